//===- Description.cpp - JSON description of a program --------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "Description.h"
#include "bppsa/Program/Keys.h"
#include "bppsa/Runtime/Device/Device.h"
#include "bppsa/Runtime/Distributed/Transport.h"

using namespace bppsa::runtime;
namespace keys = bppsa::program::keys;
using nlohmann::ordered_json;

static ordered_json describe(const Model &model, const ArrayInfo &info) {
  auto optional = [](std::optional<int64_t> value) {
    return value ? ordered_json(*value) : ordered_json(nullptr);
  };
  auto extents = [&](const std::vector<Extent> &values) {
    ordered_json list = ordered_json::array();
    for (const Extent &extent : values)
      list.push_back(extent.kind == Extent::Kind::Number ? ordered_json(extent.number)
                                                         : ordered_json(model.extentText(extent)));
    return list;
  };
  ordered_json object = {{"name", info.name},
                         {"dtype", numpyName(info.dtype)},
                         {"shape", extents(info.shape)},
                         {"batch_axis", optional(info.batchAxis)},
                         {"time_axis", optional(info.timeAxis)}};
  if (!info.carried.empty())
    object["carried"] = info.carried;
  if (info.classes)
    object["classes"] = *info.classes;
  if (!info.indexBounds.empty())
    object["index_bounds"] = extents(info.indexBounds);
  if (!info.lengthBounds.empty())
    object["length_bounds"] = extents(info.lengthBounds);
  return object;
}

static ordered_json countParameters(const Model &model) {
  int64_t total = 0, trained = 0;
  for (const ParameterInfo &info : model.parameters) {
    total += info.elements;
    trained += info.trained ? info.elements : 0;
  }
  return {{"total", total}, {"trained", trained}};
}

static ordered_json describeMappings(const ordered_json &description) {
  ordered_json mappings = ordered_json::array();
  for (const ordered_json &chain : description.value(keys::kDeviceChains, ordered_json::array()))
    mappings.push_back({{"links", chain.at("walk").value(keys::kMapping, "")},
                        {"columns", chain.at("column").value(keys::kMapping, "")}});
  return mappings;
}

static ordered_json describeInitializer(const ParameterInfo &info,
                                        const ordered_json &classification) {
  ordered_json described = {{"name", info.name},
                            {"shape", info.shape},
                            {"elements", info.elements},
                            {"trained", info.trained}};
  // Hand-written descriptions lack it.
  described.update(classification.value(info.name, ordered_json::object()));
  return described;
}

static void addLosses(ordered_json &object, const Model &model) {
  ordered_json losses = ordered_json::array();
  for (const LossInfo &loss : model.losses)
    losses.push_back(
        {{"loss", loss.kind},
         {"loss_on", loss.output},
         {"weight", loss.factor},
         {"target_array", loss.target ? describe(model, *loss.target) : ordered_json(nullptr)}});
  if (losses.size() > 1) {
    object["losses"] = std::move(losses);
    return;
  }
  losses[0].erase("weight");
  object.update(losses[0]);
}

std::string bppsa::runtime::describeConstantWeights(const Program &program) {
  ordered_json weights =
      ordered_json::parse(program.description).value(keys::kConstantWeights, ordered_json::array());
  constexpr size_t maxShown = 6;
  std::string names;
  for (size_t i = 0; i < std::min(weights.size(), maxShown); ++i)
    names += (i == 0 ? "" : ", ") + quote(weights[i].get<std::string>());
  if (names.empty())
    return "";
  if (weights.size() > maxShown)
    names += " and " + std::to_string(weights.size() - maxShown) + " others";
  return "note: " + program.model.source + ": weights in Constant nodes are not trained: " + names +
         "; bppsa-compile --train=REGEX turns them into initializers";
}

ordered_json bppsa::runtime::describeProgram(const Program &program) {
  const Model &model = program.model;
  auto description = ordered_json::parse(program.description);
  ordered_json object = {
      {"version", model.version}, {"source", model.source}, {"target", model.target}};
  addLosses(object, model);
  object.update(
      {{"optimizer", model.optimizer}, {"hyper", model.hyper}, {"symbols", model.symbols}});
  auto addAll = [&](const char *key, const std::vector<ArrayInfo> &infos) {
    object[key] = ordered_json::array();
    for (const ArrayInfo &info : infos)
      object[key].push_back(describe(model, info));
  };
  object["least_sizes"] = ordered_json::object();
  for (size_t i = 0; i < model.symbols.size(); ++i)
    if (model.minSizes[i] > 1)
      object["least_sizes"][model.symbols[i]] = model.minSizes[i];
  addAll("inputs", model.inputs);
  addAll("outputs", model.outputs);
  object["parameters"] = countParameters(model);
  object["initializers"] = ordered_json::array();
  ordered_json classification = description.value(keys::kClassification, ordered_json::object());
  for (const ParameterInfo &info : model.parameters)
    object["initializers"].push_back(describeInitializer(info, classification));
  if (auto weights = description.find(keys::kConstantWeights); weights != description.end())
    object["constant_weights"] = *weights;
  object["variants"] = ordered_json::array();
  for (size_t i = 0; i < model.variants.size(); ++i) {
    const VariantInfo &variant = model.variants[i];
    ordered_json plan = variant.plan.empty() ? ordered_json(nullptr) : ordered_json(variant.plan);
    object["variants"].push_back(
        {{"backward", variant.backward}, {"plan", plan}, {"mapping", variant.mapping}});
    const auto &described = description.at(keys::kVariants).at(i);
    if (auto order = described.find(keys::kBackwardOrder); order != described.end())
      object["variants"].back()["backward_order"] = *order;
  }
  object["memory_limit"] = description.value(keys::kMemoryLimit, int64_t(0));
  object["rolled_up"] = description.value(keys::kRolledUp, ordered_json::array());
  if (isDistributedProgram())
    object["distributed"] = "mpi";
  if (model.pipelineRanks > 0) {
    object["pipeline"] = model.pipelineRanks;
    object["stages"] = description.at(keys::kStages);
  }
  if (model.areModules)
    object["modules"] = true;
  if (model.splitsBackward)
    object["split_backward"] = true;
  if (!model.shardScans.empty())
    object["shard_scans"] = model.shardScans;
  if (isDeviceProgram()) {
    object["emulated"] = isEmulatedProgram();
    object["precision"] = model.precision;
    object["mappings"] = describeMappings(description);
    object["images"] = ordered_json::array();
    for (const bppsa_device_image *image = bppsa_device_images; image->arch; ++image)
      object["images"].push_back(image->arch);
  }
  object["isas"] = program.functions.isas();
  object["isa"] = program.functions.isa();
  return object;
}
