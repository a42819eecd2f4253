//===- EvaluationRecords.h - evaluations as a page reads them ---*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// The records of the JSON text of an evaluation that a report shows.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_REPORT_EVALUATIONRECORDS_H
#define BPPSA_LIB_REPORT_EVALUATIONRECORDS_H

#include "llvm/Support/JSON.h"
#include <optional>
#include <string>
#include <vector>

namespace bppsa {

/// The structure of a matrix; `picture` holds lines of digits, see
/// `MatrixStructure::sample`.
struct MatrixRecord {
  std::string structure;
  int64_t rows = 0, cols = 0, nonzeros = 0;
  int64_t repeat = 1;
  std::optional<std::vector<std::string>> picture;
};

struct OperationRecord {
  std::string kind;
  int64_t left = 0, right = 0, out = 0, flops = 0;
  MatrixRecord result;
};

struct ProductRecord {
  std::string kind, first, second, result;
  int64_t count = 0, flops = 0;
};

struct LevelRecord {
  std::string sweep;
  int64_t repeat = 1, flops = 0, maxFlops = 0;
  std::vector<ProductRecord> products;
  std::optional<std::vector<OperationRecord>> operations;
};

struct MakespanRecord {
  int64_t workers = 0, flops = 0;
};

/// A plan like the one of a record on fewer links.
struct DrawingRecord {
  std::string plan;
  int64_t links = 0;
  std::vector<LevelRecord> levels;
};

struct PlanRecord {
  std::string plan;
  int64_t depth = 0, steps = 0, composes = 0, applies = 0, flops = 0, criticalPathFlops = 0,
          spanFlops = 0, maxFlops = 0, bytes = 0, linkBytes = 0, peakBytes = 0;
  std::vector<MakespanRecord> makespans;
  std::vector<LevelRecord> levels;
  std::optional<DrawingRecord> drawing;
};

using ShapeRecord = std::vector<int64_t>;

/// An operation of a graph; `link` counts from 1.
struct LayerRecord {
  std::string operation, name;
  ShapeRecord operand, result;
  MatrixRecord matrix;
  bool shared = false;
  int64_t link = 0;
};

struct InjectedRecord {
  ShapeRecord shape;
  int64_t state = 0;
};

struct BodyRecord {
  std::string operation;
  int64_t count = 0;
};

/// The region of a chain over time.
struct StepRecord {
  std::string operation, name;
  std::vector<ShapeRecord> states, saved, captures, emitted;
  std::vector<InjectedRecord> injected;
  std::vector<BodyRecord> operations;
};

struct PlanTimeRecord {
  std::string plan;
  double time = 0;
};

struct CrossoverRecord {
  int64_t batch = 0, length = 0;
};

/// Predictions for a GPU.
struct DeviceRecord {
  std::string constants;
  int64_t length = 0, batch = 0;
  std::vector<PlanTimeRecord> plans;
  std::vector<int64_t> lengths, batches;
  std::vector<std::vector<double>> ratios;
  std::vector<CrossoverRecord> crossovers;
};

struct ChainRecord {
  std::string name;
  int64_t links = 0, batch = 0;
  /// Layers, and why there are none before and after them.
  std::optional<std::vector<LayerRecord>> layers;
  std::string begins, ends;
  std::optional<StepRecord> step;
  std::vector<MatrixRecord> structures;
  std::optional<DeviceRecord> device;
  std::vector<PlanRecord> plans;
};

struct EvaluationRecord {
  int64_t format = 0;
  std::vector<ChainRecord> chains;
};

/// Whether `value` has the form of an evaluation; says where not.
bool fromJSON(const llvm::json::Value &value, EvaluationRecord &record, llvm::json::Path path);

} // namespace bppsa

#endif // BPPSA_LIB_REPORT_EVALUATIONRECORDS_H
