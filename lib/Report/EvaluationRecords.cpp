//===- EvaluationRecords.cpp - evaluations as a page reads them -----------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "EvaluationRecords.h"
#include "llvm/ADT/STLExtras.h"

using llvm::json::ObjectMapper;
using llvm::json::Path;
using llvm::json::Value;

namespace bppsa {

static bool fromJSON(const Value &value, MatrixRecord &record, Path path) {
  ObjectMapper map(value, path);
  return map && map.map("structure", record.structure) && map.map("rows", record.rows) &&
         map.map("cols", record.cols) && map.map("nonzeros", record.nonzeros) &&
         map.map("repeat", record.repeat) && map.map("picture", record.picture);
}

static bool fromJSON(const Value &value, OperationRecord &record, Path path) {
  ObjectMapper map(value, path);
  MatrixRecord &result = record.result;
  return map && map.map("kind", record.kind) && map.map("left", record.left) &&
         map.map("right", record.right) && map.map("out", record.out) &&
         map.map("flops", record.flops) && map.map("result", result.structure) &&
         map.map("rows", result.rows) && map.map("cols", result.cols) &&
         map.map("nonzeros", result.nonzeros) && map.map("picture", result.picture);
}

static bool fromJSON(const Value &value, ProductRecord &record, Path path) {
  ObjectMapper map(value, path);
  return map && map.map("kind", record.kind) && map.map("first", record.first) &&
         map.map("second", record.second) && map.map("result", record.result) &&
         map.map("count", record.count) && map.map("flops", record.flops);
}

static bool fromJSON(const Value &value, LevelRecord &record, Path path) {
  ObjectMapper map(value, path);
  return map && map.map("sweep", record.sweep) && map.map("repeat", record.repeat) &&
         map.map("flops", record.flops) && map.map("max_flops", record.maxFlops) &&
         map.map("products", record.products) && map.map("operations", record.operations);
}

static bool fromJSON(const Value &value, MakespanRecord &record, Path path) {
  ObjectMapper map(value, path);
  return map && map.map("workers", record.workers) && map.map("flops", record.flops);
}

static bool fromJSON(const Value &value, DrawingRecord &record, Path path) {
  ObjectMapper map(value, path);
  return map && map.map("plan", record.plan) && map.map("links", record.links) &&
         map.map("levels", record.levels);
}

static bool fromJSON(const Value &value, PlanRecord &record, Path path) {
  ObjectMapper map(value, path);
  return map && map.map("plan", record.plan) && map.map("depth", record.depth) &&
         map.map("steps", record.steps) && map.map("compose", record.composes) &&
         map.map("apply", record.applies) && map.map("flops", record.flops) &&
         map.map("critical_path_flops", record.criticalPathFlops) &&
         map.map("span_flops", record.spanFlops) && map.map("max_flops", record.maxFlops) &&
         map.map("bytes", record.bytes) && map.map("link_bytes", record.linkBytes) &&
         map.map("peak_bytes", record.peakBytes) && map.map("makespans", record.makespans) &&
         map.map("levels", record.levels) && map.map("drawing", record.drawing);
}

static bool fromJSON(const Value &value, LayerRecord &record, Path path) {
  ObjectMapper map(value, path);
  MatrixRecord &matrix = record.matrix;
  return map && map.map("operation", record.operation) && map.map("name", record.name) &&
         map.map("operand", record.operand) && map.map("result", record.result) &&
         map.map("structure", matrix.structure) && map.map("rows", matrix.rows) &&
         map.map("cols", matrix.cols) && map.map("nonzeros", matrix.nonzeros) &&
         map.map("shared", record.shared) && map.map("link", record.link);
}

static bool fromJSON(const Value &value, InjectedRecord &record, Path path) {
  ObjectMapper map(value, path);
  return map && map.map("shape", record.shape) && map.map("state", record.state);
}

static bool fromJSON(const Value &value, BodyRecord &record, Path path) {
  ObjectMapper map(value, path);
  return map && map.map("operation", record.operation) && map.map("count", record.count);
}

static bool fromJSON(const Value &value, StepRecord &record, Path path) {
  ObjectMapper map(value, path);
  return map && map.map("operation", record.operation) && map.map("name", record.name) &&
         map.map("states", record.states) && map.map("saved", record.saved) &&
         map.map("injected", record.injected) && map.map("captures", record.captures) &&
         map.map("emitted", record.emitted) && map.map("operations", record.operations);
}

static bool fromJSON(const Value &value, PlanTimeRecord &record, Path path) {
  ObjectMapper map(value, path);
  return map && map.map("plan", record.plan) && map.map("us", record.time);
}

static bool fromJSON(const Value &value, CrossoverRecord &record, Path path) {
  ObjectMapper map(value, path);
  return map && map.map("batch", record.batch) && map.map("length", record.length);
}

static bool fromJSON(const Value &value, DeviceRecord &record, Path path) {
  ObjectMapper map(value, path);
  if (!map || !map.map("constants", record.constants) || !map.map("length", record.length) ||
      !map.map("batch", record.batch) || !map.map("plans", record.plans) ||
      !map.map("lengths", record.lengths) || !map.map("batches", record.batches) ||
      !map.map("ratios", record.ratios) || !map.map("crossovers", record.crossovers))
    return false;
  bool isWhole = record.ratios.size() == record.batches.size();
  for (const std::vector<double> &row : record.ratios)
    isWhole &= row.size() == record.lengths.size();
  if (!isWhole)
    path.field("ratios").report("expected a row for each batch and a column for each length");
  return isWhole;
}

/// Reads the layers of a chain that has some; each refers to one of the links.
static bool mapLayers(ObjectMapper &map, ChainRecord &record, Path path) {
  if (!map.map("layers", record.layers))
    return false;
  if (!record.layers)
    return true;
  for (auto [index, layer] : llvm::enumerate(*record.layers))
    if (layer.link < 1 || layer.link > record.links) {
      path.field("layers").index(index).field("link").report("expected a link of the chain");
      return false;
    }
  return map.map("begins", record.begins) && map.map("ends", record.ends);
}

static bool fromJSON(const Value &value, ChainRecord &record, Path path) {
  ObjectMapper map(value, path);
  return map && map.map("name", record.name) && map.map("links", record.links) &&
         map.map("batch", record.batch) && mapLayers(map, record, path) &&
         map.map("step", record.step) && map.map("structures", record.structures) &&
         map.map("gpu", record.device) && map.map("plans", record.plans);
}

bool fromJSON(const Value &value, EvaluationRecord &record, Path path) {
  ObjectMapper map(value, path);
  if (!map || !map.map("format", record.format))
    return false;
  if (record.format != 1) {
    path.field("format").report("expected format 1");
    return false;
  }
  return map.map("chains", record.chains);
}

} // namespace bppsa
