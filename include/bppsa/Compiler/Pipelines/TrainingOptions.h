//===- TrainingOptions.h - options of training functions --------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_COMPILER_PIPELINES_TRAININGOPTIONS_H
#define BPPSA_COMPILER_PIPELINES_TRAININGOPTIONS_H

#include "bppsa/Program/Losses.h"
#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace bppsa {

enum class BackwardKind { Auto, Scan, Sequential };

enum class TargetKind { CPU, CUDA };

/// One backward pass of a compiled program.
struct Variant {
  /// `sequential` or `scan`.
  std::string name;
  /// Scan plan; empty for the sequential chain.
  std::string plan;
  /// True if vectors hold hidden units of one sample or chunks of time instead of samples.
  bool forSmallBatches = false;

  std::string getExportedName() const {
    return !forSmallBatches ? name : name + (plan.empty() ? ".units" : ".chunks");
  }
};

struct FrozenRow {
  std::string name;
  int64_t row;

  static std::optional<FrozenRow> parse(const std::string &text);
};

struct LossTerm {
  /// A loss name of `--loss`.
  std::string kind;
  std::string output;
  /// Factor in the sum of all losses.
  double factor = 1;

  bool hasClasses() const { return program::hasClasses(kind); }
  bool hasTarget() const { return !program::isLoss(kind, program::LossKind::None); }
};

struct TrainingOptions {
  TargetKind target = TargetKind::CPU;
  /// One for all of `lossOn`, or one for each.
  std::vector<std::string> losses = {"cross-entropy"};
  std::vector<std::string> lossOn;
  std::vector<double> lossWeights;
  /// Interlocking backpropagation: the parameters of a module follow the losses of this many
  /// modules, beginning with its own.
  std::optional<int64_t> interlock;
  /// The combination of these losses: `last`, `sum` or `mean`; empty for `last`.
  std::string interlockCombine;
  std::vector<float> classWeights;
  /// The share of each target that is spread over all classes.
  double labelSmoothing = 0;
  /// Positions with this target have weight zero.
  std::optional<int64_t> ignoreIndex;
  std::string optimizer = "adam";
  /// Regular expression over initializer names; empty freezes none.
  std::string freeze;
  std::vector<FrozenRow> frozenRows;
  BackwardKind backward = BackwardKind::Auto;
  std::string scan = "auto";
  /// `structured`, or `dense` to check structured Jacobians against the VJP rules.
  std::string jacobians = "structured";
  /// The schedule of parameter gradients (`BackwardOrder::parse`).
  std::string backwardOrder;
  /// GPU streams of backward passes: `1`, `2`, or `2:joint`, where the cost model chooses the
  /// overlap.
  std::string backwardStreams;
  /// Byte limit per sample for explicit Jacobians, and for the values that loops keep for their
  /// chains.
  std::optional<int64_t> memoryLimit;
  /// Batch normalizations use the statistics of the whole batch across ranks.
  bool syncBatchNorm = false;
  std::optional<int64_t> pipelineRanks;
  std::string pipelinePlacement = "neighbours";
  /// Stages per rank.
  std::optional<int64_t> pipelineChunks;
  /// Stages compute parameter gradients separately from cotangents.
  bool splitBackward = false;
  /// Add functions for ranks that each process a share of the time steps.
  bool shardTime = false;
  /// `--scan-shards`: add time-shard functions whose backward pass is a scan over ranks.
  bool scanShards = false;
  /// True if such a model has bidirectional recurrent layers. Ranks with late steps then have
  /// separate functions.
  bool hasBidirectionalShards = false;
  /// `--check-nan`: add functions that find the op that produces the first NaN.
  bool tracesNaNs = false;
  /// Operand precision of tensor cores: `fp32`, `tf32` or `bf16`; empty for `fp32`.
  std::string precision;

  /// Returns the losses in the order of `lossOn`; the lists must have matching lengths.
  std::vector<LossTerm> getLossTerms() const;
  int64_t getJacobianLimit() const { return memoryLimit.value_or(int64_t(1) << 30); }
  /// Without a limit, programs contain no code for backward passes by segments and compile faster.
  int64_t getLoopLimit() const { return memoryLimit.value_or(0); }
  /// Returns true if variants with a plan use explicit Jacobians for chains of layers.
  bool hasLayerLinks() const { return backward == BackwardKind::Scan || scan != "auto"; }
  /// Returns the rank of each pipeline stage; empty without a pipeline.
  std::vector<int32_t> getStagePlacement() const;
  int64_t getNumStages() const { return static_cast<int64_t>(getStagePlacement().size()); }
  /// Returns true if forward and backward passes can be called separately.
  bool hasPullbacks() const { return hasLoss(program::LossKind::VJP); }
  bool hasLoss(program::LossKind kind) const {
    return std::any_of(losses.begin(), losses.end(),
                       [&](const std::string &loss) { return program::isLoss(loss, kind); });
  }
  std::vector<Variant> getVariants() const;
  /// Returns true if only `auto` may choose scans with chunks in lanes.
  bool mayAutoChooseScans() const { return backward == BackwardKind::Auto && scan == "auto"; }
  /// Returns the variants and, for CPUs, their forms for small batches.
  std::vector<Variant> getMappedVariants() const;
};

} // namespace bppsa

#endif // BPPSA_COMPILER_PIPELINES_TRAININGOPTIONS_H
