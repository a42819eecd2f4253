//===- Checkpoint.cpp - Checkpoints of a training run ---------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "Training/Checkpoint.h"
#include "Training/Metrics.h"
#include "bppsa/Runtime/Error.h"

#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>

using namespace bppsa::runtime;
using nlohmann::json;

static constexpr const char *kMetaName = "checkpoint";

static std::string arrayName(const std::string &kind, const ParameterInfo &info) {
  return kind + "/" + info.name;
}

static json describeIdentity(const Program &program) {
  return {{"source", program.model.source},
          {"optimizer", program.model.optimizer},
          {"loss", program.model.lossText()},
          {"checksum", program.checksum}};
}

static json settingsToJson(const TrainSettings &settings) {
  json object = {{"batch", settings.batch},
                 {"seed", settings.seed},
                 {"shuffle", settings.shuffle},
                 {"hyper", settings.hyper},
                 {"shuffle_memory", settings.shuffleMemory},
                 {"schedule", settings.schedule},
                 {"variant", settings.variant}};
  if (settings.clipNorm)
    object["clip_norm"] = *settings.clipNorm;
  if (settings.tbptt)
    object["tbptt"] = *settings.tbptt;
  for (const RateRule &rule : settings.rateRules)
    object["lr_for"].push_back({rule.pattern, rule.rate});
  if (settings.ema)
    object["ema"] = *settings.ema;
  object["accumulate"] = settings.accumulate;
  object["best"] = settings.best;
  if (settings.valSplit)
    object["val_split"] = *settings.valSplit;
  if (settings.patience)
    object["patience"] = *settings.patience;
  return object;
}

static TrainSettings settingsOf(const json &object) {
  TrainSettings settings;
  settings.batch = object.at("batch").get<int64_t>();
  settings.seed = object.at("seed").get<uint64_t>();
  settings.shuffle = object.at("shuffle").get<bool>();
  settings.shuffleMemory = object.at("shuffle_memory").get<int64_t>();
  settings.hyper = object.at("hyper").get<std::map<std::string, double>>();
  settings.schedule = object.at("schedule").get<std::string>();
  settings.variant = object.at("variant").get<std::string>();
  if (object.contains("clip_norm"))
    settings.clipNorm = object.at("clip_norm").get<double>();
  if (object.contains("tbptt"))
    settings.tbptt = object.at("tbptt").get<int64_t>();
  for (const json &rule : object.value("lr_for", json::array()))
    settings.rateRules.push_back({rule.at(0).get<std::string>(), rule.at(1).get<double>()});
  if (object.contains("ema"))
    settings.ema = object.at("ema").get<double>();
  settings.accumulate = object.at("accumulate").get<int64_t>();
  settings.best = object.at("best").get<std::string>();
  if (object.contains("val_split"))
    settings.valSplit = object.at("val_split").get<double>();
  if (object.contains("patience"))
    settings.patience = object.at("patience").get<int64_t>();
  if (settings.accumulate < 1 || settings.shuffleMemory < 1 ||
      (settings.best != "loss" && settings.best != "accuracy"))
    fail("a setting is out of range");
  return settings;
}

static json stateToJson(const TrainState &state) {
  json history = json::array();
  for (const EpochRecord &record : state.history)
    history.push_back(json(toJson(record)));
  return {{"epoch", state.epoch},
          {"batch", state.batch},
          {"step", state.step},
          {"earlier", state.earlier},
          {"loss_sums", state.losses.losses},
          {"seconds", state.seconds},
          {"load_seconds", state.loadSeconds},
          {"samples", state.samples},
          {"history", history},
          {"fingerprint", state.fingerprint},
          {"weight_sums", state.losses.weights},
          {"best", state.best ? json(*state.best) : json(nullptr)},
          {"best_epoch", state.bestEpoch},
          {"averaged", state.averaged}};
}

static TrainState stateOf(const json &object) {
  TrainState state;
  state.epoch = object.at("epoch").get<int64_t>();
  state.batch = object.at("batch").get<int64_t>();
  state.step = object.at("step").get<int64_t>();
  state.earlier = object.at("earlier").get<int64_t>();
  state.losses.losses = object.at("loss_sums").get<std::vector<double>>();
  state.losses.weights = object.at("weight_sums").get<std::vector<double>>();
  state.seconds = object.at("seconds").get<double>();
  state.loadSeconds = object.at("load_seconds").get<double>();
  state.samples = object.at("samples").get<int64_t>();
  state.fingerprint = object.at("fingerprint").get<uint32_t>();
  for (const json &record : object.at("history"))
    state.history.push_back(recordOf(record));
  if (const json &best = object.at("best"); !best.is_null())
    state.best = best.get<double>();
  state.bestEpoch = object.at("best_epoch").get<int64_t>();
  state.averaged = object.at("averaged").get<int64_t>();
  if (state.losses.losses.size() != state.losses.weights.size())
    fail("a loss has no weight");
  if (state.averaged < 0 || state.epoch < 0 || state.batch < 0 || state.step < 0 ||
      state.earlier < 0)
    fail("a count is negative");
  return state;
}

void bppsa::runtime::writeCheckpoint(const std::string &path, const Session &session,
                                     const TrainSettings &settings, const TrainState &state) {
  json meta = {{"format", 1},
               {"model", describeIdentity(session.program)},
               {"settings", settingsToJson(settings)},
               {"state", stateToJson(state)}};
  std::string bytes = meta.dump();
  NpzWriter writer(path);
  writer.add(kMetaName, DType::U8, {static_cast<int64_t>(bytes.size())}, bytes.data());
  const Parameters &parameters = session.parameters;
  const std::vector<ParameterInfo> &infos = session.program.model.parameters;
  for (size_t i = 0; i < infos.size(); ++i) {
    if (!infos[i].changes())
      continue;
    writer.add(arrayName("parameter", infos[i]), DType::F32, infos[i].shape, parameters.values(i));
    for (size_t s = 0; infos[i].trained && s < parameters.stateCount(); ++s)
      writer.add(arrayName("state" + std::to_string(s), infos[i]), DType::F32, infos[i].shape,
                 parameters.state(s, i));
    if (infos[i].trained && parameters.hasAverage())
      writer.add(arrayName("average", infos[i]), DType::F32, infos[i].shape, parameters.average(i));
  }
  writer.commit();
}

static void requireCheckpoint(const NpzReader &archive) {
  auto found = archive.headers().find(kMetaName);
  if (found == archive.headers().end() || found->second.dtype != DType::U8)
    fail("is not a checkpoint of a trainer");
}

static json parseMeta(const Array &array, const Program &program) {
  const char *text = array.as<char>();
  json meta = json::parse(text, text + array.elements());
  if (meta.at("format") != 1)
    fail("has the checkpoint format ", meta.at("format").dump(), ", expected 1");
  json own = describeIdentity(program);
  const json &model = meta.at("model");
  for (const char *key : {"source", "optimizer", "loss", "checksum"})
    if (model.at(key) != own[key])
      fail("belongs to another program: its ", key, " is ", model.at(key).dump(), ", expected ",
           own[key].dump(), "; resume with the program that wrote it, or train without --resume");
  return meta;
}

namespace {
struct StoredValues {
  std::string name;
  float *to;
  Array array;
};
} // namespace

static std::vector<StoredValues> findValues(const NpzReader &archive, Session &session) {
  Parameters &parameters = session.parameters;
  const std::vector<ParameterInfo> &infos = session.program.model.parameters;
  std::vector<StoredValues> all;
  auto add = [&](const std::string &kind, const ParameterInfo &info, float *to) {
    std::string name = arrayName(kind, info);
    auto found = archive.headers().find(name);
    if (found == archive.headers().end() || found->second.dtype != DType::F32 ||
        found->second.shape != info.shape)
      fail("array ", quote(name), " is missing or has another shape than ", list(info.shape));
    all.push_back({std::move(name), to, Array()});
  };
  for (size_t i = 0; i < infos.size(); ++i) {
    if (!infos[i].changes())
      continue;
    add("parameter", infos[i], parameters.changeValues(i));
    for (size_t s = 0; infos[i].trained && s < parameters.stateCount(); ++s)
      add("state" + std::to_string(s), infos[i], parameters.changeState(s, i));
    if (infos[i].trained && parameters.hasAverage())
      add("average", infos[i], parameters.changeAverage(i));
  }
  return all;
}

void bppsa::runtime::readCheckpoint(const std::string &path, Session &session,
                                    TrainSettings &settings, TrainState &state) {
  auto inFile = [&](auto &&action) {
    try {
      action();
    } catch (const Error &error) {
      fail(quote(path), ": ", error.what());
    } catch (const json::exception &) {
      fail(quote(path), ": is damaged: its description cannot be read");
    }
  };
  NpzReader archive(path);
  inFile([&] { requireCheckpoint(archive); });
  Array description = archive.read(kMetaName);
  TrainSettings newSettings;
  TrainState newState;
  std::vector<StoredValues> all;
  inFile([&] {
    json meta = parseMeta(description, session.program);
    newSettings = settingsOf(meta.at("settings"));
    newState = stateOf(meta.at("state"));
    if (newSettings.ema)
      session.parameters.keepAverage();
    all = findValues(archive, session);
  });
  for (StoredValues &values : all) {
    values.array = archive.read(values.name);
    inFile([&] {
      const float *data = values.array.as<float>();
      for (int64_t i = 0, size = values.array.elements(); i < size; ++i)
        if (!std::isfinite(data[i]))
          fail("array ", quote(values.name), " holds ", data[i]);
    });
  }
  for (const StoredValues &values : all)
    memcpy(values.to, values.array.data.data(), values.array.data.size());
  settings = std::move(newSettings);
  state = std::move(newState);
}
