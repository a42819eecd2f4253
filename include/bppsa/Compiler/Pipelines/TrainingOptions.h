//===- TrainingOptions.h - what training functions compute ------*- C++ -*-===//
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

/// Which backward passes a compiled program holds.
enum class BackwardKind { Auto, Scan, Sequential };

/// What a program's kernels run on.
enum class TargetKind { CPU, CUDA };

/// One backward pass of a compiled program.
struct Variant {
  /// `sequential` or `scan`.
  std::string name;
  /// Scan plan in its command-line spelling; empty for the sequential chain.
  std::string plan;
  /// Vectors hold hidden units of one sample instead of samples, and in chains with a plan chunks
  /// of time: the functions are copies of the variant's, with `units` in their entries.
  bool forSmallBatches = false;

  /// Its name in a program.
  std::string getExportedName() const {
    return !forSmallBatches ? name : name + (plan.empty() ? ".units" : ".chunks");
  }
};

/// A row of an initializer, along its first axis, that is not trained.
struct FrozenRow {
  std::string name;
  int64_t row;

  /// What `NAME:ROW` means; nothing where `text` is not of that form.
  static std::optional<FrozenRow> parse(const std::string &text);
};

/// A loss of an output of the graph.
struct LossTerm {
  /// A word of `--loss`.
  std::string kind;
  /// Empty for the first output.
  std::string output;
  /// What it is multiplied by in the sum of all.
  double factor = 1;

  bool hasClasses() const { return program::hasClasses(kind); }
  bool hasTarget() const { return !program::isLoss(kind, program::LossKind::None); }
};

/// The part of the command line that decides what the training functions compute.
struct TrainingOptions {
  TargetKind target = TargetKind::CPU;
  /// One for all of `lossOn`, or one for each.
  std::vector<std::string> losses = {"cross-entropy"};
  /// Graph outputs that feed the losses; empty for the first.
  std::vector<std::string> lossOn;
  /// What each of several losses is multiplied by in their sum; empty for ones.
  std::vector<double> lossWeights;
  /// Modules whose losses reach a module, of those that the losses cut the model into; nothing for
  /// backpropagation through all of them.
  std::optional<int64_t> interlock;
  /// Which of these losses do: `last`, `sum` or `mean`; empty for `last`.
  std::string interlockCombine;
  /// A weight for each class; empty for ones.
  std::vector<float> classWeights;
  /// The share of each target that is spread over all classes.
  double labelSmoothing = 0;
  /// Positions with this target have no weight.
  std::optional<int64_t> ignoreIndex;
  std::string optimizer = "adam";
  /// Regular expression over initializer names; empty freezes none.
  std::string freeze;
  std::vector<FrozenRow> frozenRows;
  BackwardKind backward = BackwardKind::Auto;
  std::string scan = "auto";
  /// `structured`, or `dense`: explicit Jacobians have all their elements, made column by column by
  /// the rules of operations, to check those of which the structure is known.
  std::string jacobians = "structured";
  /// When gradients of parameters are formed (`BackwardOrder::parse`); empty where differentiation
  /// forms them.
  std::string backwardOrder;
  /// Streams of the GPU that backward passes run on: `1`, `2`, or `2:joint`, where the cost model
  /// says what runs beside what; empty for `1`. For CUDA only.
  std::string backwardStreams;
  /// Bytes that the explicit Jacobians of a chain of layers may take for one sample, and what loops
  /// keep for their chains; 0 for no limit.
  std::optional<int64_t> memoryLimit;
  /// `--sync-bn`: batch normalizations of several ranks take the statistics of the whole batch.
  bool syncBatchNorm = false;
  /// `--pipeline`: ranks of a pipeline whose stages steps are cut into; nothing for none.
  std::optional<int64_t> pipelineRanks;
  /// `--pipeline-placement`: which of them have which stages, a word of schedule::PlacementKind.
  std::string pipelinePlacement = "neighbours";
  /// `--pipeline-chunks`: the stages of each of them; nothing for what the placement takes.
  std::optional<int64_t> pipelineChunks;
  /// `--split-backward`: stages form gradients of parameters apart from cotangents.
  bool splitBackward = false;
  /// `--shard-time`: also functions for ranks with shares of the steps.
  bool shardTime = false;
  /// `--scan-shards`: and such that go back by a scan over ranks.
  bool scanShards = false;
  /// Whether recurrent layers of such a model go both ways: ranks with late steps then have
  /// functions of their own.
  bool shardsBothWays = false;
  /// `--check-nan`: also functions that find the op which makes the first NaN.
  bool tracesNaNs = false;
  /// What tensor cores multiply: `fp32`, `tf32` or `bf16`; empty for `fp32`. For CUDA only.
  std::string precision;

  /// The losses, in the order of `lossOn`. The lists have lengths that go together.
  std::vector<LossTerm> getLossTerms() const;
  int64_t getJacobianLimit() const { return memoryLimit.value_or(int64_t(1) << 30); }
  /// Without a limit, programs have no code that goes back by segments, and compile faster.
  int64_t getLoopLimit() const { return memoryLimit.value_or(0); }
  /// Whether chains of layers get explicit Jacobians in variants with a plan: where
  /// a scan or a plan was asked for.
  bool hasLayerLinks() const { return backward == BackwardKind::Scan || scan != "auto"; }
  /// The ranks of the stages of a pipeline, stage by stage; empty where there is none.
  std::vector<int32_t> getStagePlacement() const;
  int64_t getNumStages() const { return static_cast<int64_t>(getStagePlacement().size()); }
  /// Whether forward and backward passes can be called apart.
  bool hasPullbacks() const { return hasLoss(program::LossKind::VJP); }
  bool hasLoss(program::LossKind kind) const {
    return std::any_of(losses.begin(), losses.end(),
                       [&](const std::string &loss) { return program::isLoss(loss, kind); });
  }
  /// The backward passes that `backward` and `scan` ask for.
  std::vector<Variant> getVariants() const;
  /// Whether scans with chunks in lanes are for `auto` to choose, and for nobody else.
  bool leavesScansToAuto() const { return backward == BackwardKind::Auto && scan == "auto"; }
  /// These and, for CPUs, their forms for small batches, which scans have in some modules only
  /// (`bppsa-add-unit-variants`).
  std::vector<Variant> getMappedVariants() const;
};

} // namespace bppsa

#endif // BPPSA_COMPILER_PIPELINES_TRAININGOPTIONS_H
