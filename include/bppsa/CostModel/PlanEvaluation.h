//===- PlanEvaluation.h - cost of a scan plan -------------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// Costs of the operations of a `ScanSchedule`, the list that the compiler executes, for a chain
// whose links have known structure. docs/Explanation/PlanEvaluator.md defines the figures. One
// multiply-add counts as two FLOPs.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_COSTMODEL_PLANEVALUATION_H
#define BPPSA_COSTMODEL_PLANEVALUATION_H

#include "bppsa/Dialect/BPPSA/Analysis/ScanSchedule.h"
#include "bppsa/Dialect/Jacobian/Analysis/MatrixStructure.h"
#include <string>

namespace bppsa {

/// Cost of a link that is a region of code: a step of a recurrent cell. Linear and chunked plans
/// never form its Jacobian. Trees form the Jacobians that they read, from factors or column by
/// column. FLOPs are for one sample and one column.
struct RegionCost {
  /// FLOPs of computing only the state cotangents, only the emitted values, and both. Shared parts
  /// count in each.
  int64_t stateFlops = 0, emitFlops = 0, fullFlops = 0;
  /// FLOPs of forming the Jacobian from its factors, if these are known.
  std::optional<int64_t> factoredFlops = std::nullopt;
  /// Bytes of the activations of one step and sample, of the matrices and vectors shared by all
  /// steps, and of the values emitted per step and sample.
  int64_t savedBytes = 0, captureBytes = 0, emittedBytes = 0;
};

/// The links of a chain, in the order in which cotangents pass through them.
struct LinkChain {
  std::string name;
  std::vector<MatrixStructure> links;
  /// Present if links are applied as code; otherwise their matrices are available.
  std::optional<RegionCost> region;
  /// True if a cotangent is added before every link. Products then combine affine pairs (J, s).
  bool hasInjected = false;
  /// True if the result of the last link is needed.
  bool withInitial = false;
  int64_t batch = 1;
  int64_t elementBytes = 4;
  /// True if cotangents count as vectors that may have zeros, as in the FLOP counts of the paper's
  /// code. Generated code does not exploit such zeros.
  bool sparseCotangents = false;
};

/// The operations between two barriers.
struct LevelCost {
  enum class Phase { Linearize, Up, Middle, Down, Emit };

  /// Operations of the same type on matrices of the same structure.
  struct Group {
    enum class Kind { Linearize, Compose, Apply, Emit };
    Kind kind;
    /// Structures; `second` is used for compose and apply only.
    std::string first, second, result;
    int64_t count = 0;
    int64_t flops = 0;
  };
  /// An operation in the drawing of a tree. Values are numbered as in the schedule; a copy has the
  /// number of its source.
  struct Operation {
    Group::Kind kind;
    /// -1 if absent.
    int64_t left, right, out;
    MatrixStructure result;
    /// FLOPs for one sample.
    int64_t flops;
  };

  Phase phase;
  std::vector<Group> groups;
  std::vector<Operation> operations;
  int64_t copies = 0;
  /// FLOPs of all operations and samples.
  int64_t flops = 0;
  /// FLOPs of the costliest operation for one sample.
  int64_t maxFlops = 0;
  /// Bytes of operands read and results written.
  int64_t bytes = 0;
  /// Number of consecutive levels that are equal to this one.
  int64_t repeat = 1;

  int64_t count(Group::Kind kind) const;
};

/// Time of a schedule for `workers` workers, in FLOPs of one worker.
struct Makespan {
  int64_t workers;
  int64_t flops;
};

struct PlanEvaluation {
  std::string plan;
  int64_t numLinks = 0;
  /// Products on the longest path, and number of levels with a product.
  int64_t depth = 0, steps = 0;
  int64_t composes = 0, applies = 0, copies = 0;
  int64_t flops = 0;
  /// Sum over levels of the costliest operation: the paper's critical path.
  int64_t criticalPathFlops = 0;
  /// FLOPs of the costliest path of dependent operations.
  int64_t spanFlops = 0;
  int64_t maxFlops = 0;
  int64_t bytes = 0;
  /// Bytes of the stored links, and peak bytes of products and cotangents in addition to them.
  int64_t linkBytes = 0, peakBytes = 0;
  std::vector<LevelCost> levels;
  std::vector<Makespan> makespans;
  /// The operations of the same plan on the first few links, if the full list is too long.
  struct Drawing {
    std::string plan;
    int64_t numLinks = 0;
    std::vector<LevelCost> levels;
  };
  std::optional<Drawing> drawing;
};

struct EvaluationOptions {
  std::vector<int64_t> workers = {1};
  /// Cost of a barrier or launch in FLOPs of a worker. Makespans include it once per level, or once
  /// per sweep if the steps of a chunk need no barrier.
  int64_t stepOverhead = 0;
  /// Maximum number of links for which operations are listed individually.
  int64_t maxOperations = 64;
  /// Treatment of the first chunk; GPU programs compute a matrix for it.
  FirstChunk firstChunk = FirstChunk::Vector;
};

/// Evaluates `plan` on `chain`, which has at least one link and whose neighbouring links compose
/// (`findMismatch`). Returns nothing if the plan leaves a choice to the run time.
std::optional<PlanEvaluation> evaluatePlan(const LinkChain &chain, PlanAttr plan,
                                           const EvaluationOptions &options);

/// Returns the first link, counted from 1, whose columns differ from the rows of the previous link;
/// 0 if all links compose.
int64_t findMismatch(const LinkChain &chain);

/// Returns the time of the busiest worker in a greedy longest-first schedule of independent
/// `tasks`: pairs of FLOPs and number of such tasks.
int64_t getMakespan(std::vector<std::pair<int64_t, int64_t>> tasks, int64_t workers);

} // namespace bppsa

#endif // BPPSA_COSTMODEL_PLANEVALUATION_H
