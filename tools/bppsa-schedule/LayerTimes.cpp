//===- LayerTimes.cpp - times of the layers of a model --------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "LayerTimes.h"
#include "bppsa/Runtime/Error.h"
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

using namespace bppsa;
using namespace bppsa::schedule;
using bppsa::runtime::fail;
using bppsa::runtime::quote;
using nlohmann::json;

static json readFile(const std::string &path) {
  std::ifstream file(path);
  if (!file)
    fail("--times: cannot read ", quote(path), "; expected counts and a JSON file");
  json object = json::parse(file, nullptr, /*allow_exceptions=*/false);
  if (!object.is_object())
    fail(path, ": not a JSON object; use the output of `bench` of a compiled program");
  return object;
}

static double readTime(const json &object, const char *key, const std::string &path) {
  auto found = object.find(key);
  if (found == object.end() || !found->is_number() || !(found->get<double>() >= 0))
    fail(path, ": ", key, " must be a number of microseconds, at least 0");
  return found->get<double>();
}

/// Fails if flag and file conflict.
static int64_t chooseSize(const CommandLine &options, const json &object, const char *key,
                          const char *flag, int64_t given, int64_t fallback) {
  auto found = object.find(key);
  if (found == object.end() || !found->is_number_integer())
    return given ? given : fallback;
  int64_t measured = found->get<int64_t>();
  if (measured < 1 || (given && given != measured))
    fail(options.timesFile, ": measured with ", key, " ", measured, ", but ", flag, " is ", given,
         "; measure again, or remove ", flag);
  return measured;
}

static ModelSizes chooseSizes(const CommandLine &options, const json &object) {
  ModelSizes sizes = {chooseSize(options, object, "batch", "--batch", options.batch, 16),
                      chooseSize(options, object, "seq_len", "--seq-len", options.steps, 1000)};
  sizes.requiresBatch = options.batch > 0;
  sizes.requiresSteps = options.steps > 0;
  sizes.bindings = options.bindings;
  return sizes;
}

/// Distributes the model's times in proportion to FLOPs.
static void scale(std::vector<ModelLayer> &layers, const json &object, const std::string &path) {
  double forward = 0, backward = 0;
  for (const ModelLayer &layer : layers) {
    forward += layer.forward;
    backward += layer.backward + layer.weight;
  }
  double forwardRate = readTime(object, "forward_us", path) / forward;
  double backwardRate = readTime(object, "backward_us", path) / backward;
  for (ModelLayer &layer : layers) {
    layer.forward *= forwardRate;
    layer.backward *= backwardRate;
    layer.weight *= backwardRate;
  }
}

static void replace(std::vector<ModelLayer> &layers, const json &list, const std::string &path) {
  std::map<std::string, json> measured;
  for (const json &entry : list) {
    if (!entry.is_object() || !entry.contains("name") || !entry["name"].is_string())
      fail(path, ": an entry of layers has no name");
    measured[entry["name"].get<std::string>()] = entry;
  }
  for (ModelLayer &layer : layers) {
    auto found = measured.find(layer.name);
    if (found == measured.end())
      fail(path, ": layers has no entry with the name ", quote(layer.name));
    layer.forward = readTime(found->second, "forward_us", path);
    layer.backward = readTime(found->second, "backward_us", path);
    layer.weight = readTime(found->second, "weight_us", path);
    measured.erase(found);
  }
  if (!measured.empty())
    fail(path, ": the model has no layer ", quote(measured.begin()->first));
}

ModelWork bppsa::schedule::getTimedWork(const CommandLine &options) {
  json object = options.timesFile.empty() ? json::object() : readFile(options.timesFile);
  std::string error;
  std::optional<ModelWork> work = getModelWork(options.model, chooseSizes(options, object), error);
  if (!work)
    fail(error);
  double flopsPerMicrosecond = options.gflops * 1e3;
  if (object.contains("layers"))
    replace(work->layers, object["layers"], options.timesFile);
  else if (!options.timesFile.empty())
    scale(work->layers, object, options.timesFile);
  else
    for (ModelLayer &layer : work->layers) {
      layer.forward /= flopsPerMicrosecond;
      layer.backward /= flopsPerMicrosecond;
      layer.weight /= flopsPerMicrosecond;
    }
  return *work;
}
