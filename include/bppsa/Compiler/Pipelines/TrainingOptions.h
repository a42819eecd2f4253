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

/// The backward passes of a compiled program.
enum class BackwardKind { Auto, Scan, Sequential };

/// The device of a program's kernels.
enum class TargetKind { CPU, CUDA };

/// One backward pass of a compiled program.
struct Variant {
  /// `sequential` or `scan`.
  std::string name;
  /// Scan plan in command-line syntax; empty for the sequential chain.
  std::string plan;
  /// True if vectors hold hidden units of one sample instead of samples or, in chains with a plan,
  /// chunks of time. The functions are copies of the variant's functions with `units` in their
  /// entries.
  bool forSmallBatches = false;

  std::string getExportedName() const {
    return !forSmallBatches ? name : name + (plan.empty() ? ".units" : ".chunks");
  }
};

/// A row of an initializer, along its first axis, that is not trained.
struct FrozenRow {
  std::string name;
  int64_t row;

  /// Parses `NAME:ROW`; returns nothing for other texts.
  static std::optional<FrozenRow> parse(const std::string &text);
};

/// A loss on an output of the graph.
struct LossTerm {
  /// A loss name of `--loss`.
  std::string kind;
  /// Empty for the first output.
  std::string output;
  /// Factor in the sum of all losses.
  double factor = 1;

  bool hasClasses() const { return program::hasClasses(kind); }
  bool hasTarget() const { return !program::isLoss(kind, program::LossKind::None); }
};

/// The command-line options that determine the training functions.
struct TrainingOptions {
  TargetKind target = TargetKind::CPU;
  /// One for all of `lossOn`, or one for each.
  std::vector<std::string> losses = {"cross-entropy"};
  /// Graph outputs with losses; empty for the first.
  std::vector<std::string> lossOn;
  /// Factors of the losses in their sum; empty for all ones.
  std::vector<double> lossWeights;
  /// Interlocking backpropagation: the losses cut the model into modules, and the parameters of a
  /// module follow the losses of this many modules, beginning with its own. Absent for full
  /// backpropagation.
  std::optional<int64_t> interlock;
  /// The combination of these losses: `last`, `sum` or `mean`; empty for `last`.
  std::string interlockCombine;
  /// One weight per class; empty for all ones.
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
  /// `structured`, or `dense`: explicit Jacobians have all elements, computed column by column with
  /// the VJP rules, to check the structured Jacobians.
  std::string jacobians = "structured";
  /// The schedule of parameter gradients (`BackwardOrder::parse`); empty for the order of
  /// differentiation.
  std::string backwardOrder;
  /// GPU streams of backward passes: `1`, `2`, or `2:joint`, where the cost model chooses the
  /// overlap; empty for `1`. CUDA only.
  std::string backwardStreams;
  /// Byte limit for the explicit Jacobians of a chain of layers, per sample, and for the values
  /// that loops keep for their chains; 0 for no limit.
  std::optional<int64_t> memoryLimit;
  /// `--sync-bn`: batch normalizations use the statistics of the whole batch across ranks.
  bool syncBatchNorm = false;
  /// `--pipeline`: number of ranks of a pipeline into whose stages steps are cut; absent for none.
  std::optional<int64_t> pipelineRanks;
  /// `--pipeline-placement`: assignment of stages to ranks, the name of a schedule::PlacementKind.
  std::string pipelinePlacement = "neighbours";
  /// `--pipeline-chunks`: stages per rank; absent for the default of the placement.
  std::optional<int64_t> pipelineChunks;
  /// `--split-backward`: stages compute parameter gradients separately from cotangents.
  bool splitBackward = false;
  /// `--shard-time`: add functions for ranks that each process a share of the time steps.
  bool shardTime = false;
  /// `--scan-shards`: add time-shard functions whose backward pass is a scan over ranks.
  bool scanShards = false;
  /// True if such a model has bidirectional recurrent layers. Ranks with late steps then have
  /// separate functions.
  bool shardsBothWays = false;
  /// `--check-nan`: add functions that find the op that produces the first NaN.
  bool tracesNaNs = false;
  /// Operand precision of tensor cores: `fp32`, `tf32` or `bf16`; empty for `fp32`. CUDA only.
  std::string precision;

  /// Returns the losses in the order of `lossOn`. The lists must have matching lengths.
  std::vector<LossTerm> getLossTerms() const;
  int64_t getJacobianLimit() const { return memoryLimit.value_or(int64_t(1) << 30); }
  /// Without a limit, programs contain no code for backward passes by segments and compile faster.
  int64_t getLoopLimit() const { return memoryLimit.value_or(0); }
  /// Returns true if variants with a plan use explicit Jacobians for chains of layers: if the user
  /// requested a scan or a plan.
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
  /// Returns the backward passes selected by `backward` and `scan`.
  std::vector<Variant> getVariants() const;
  /// Returns true if only `auto` may choose scans with chunks in lanes.
  bool leavesScansToAuto() const { return backward == BackwardKind::Auto && scan == "auto"; }
  /// Returns the variants and, for CPUs, their forms for small batches. Only some modules have a
  /// small-batch form of scans (`bppsa-add-unit-variants`).
  std::vector<Variant> getMappedVariants() const;
};

} // namespace bppsa

#endif // BPPSA_COMPILER_PIPELINES_TRAININGOPTIONS_H
