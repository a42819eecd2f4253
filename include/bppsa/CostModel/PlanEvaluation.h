//===- PlanEvaluation.h - cost of a scan plan -------------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// Costs of the operations of a `ScanSchedule`. docs/Explanation/PlanEvaluator.md defines the
// figures; a multiply-add counts as two FLOPs.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_COSTMODEL_PLANEVALUATION_H
#define BPPSA_COSTMODEL_PLANEVALUATION_H

#include "bppsa/Dialect/BPPSA/Analysis/ScanSchedule.h"
#include "bppsa/Dialect/Jacobian/Analysis/MatrixStructure.h"
#include <string>

namespace bppsa {

/// Cost of a link that is a step of a recurrent cell. Only trees form its Jacobian. FLOPs are for
/// one sample and one column.
struct RegionCost {
  /// FLOPs of computing only the state cotangents, only the emitted values, and both.
  int64_t stateFlops = 0, emitFlops = 0, fullFlops = 0;
  /// FLOPs of forming the Jacobian from its factors, if these are known.
  std::optional<int64_t> factoredFlops = std::nullopt;
  /// Bytes of the activations of one step and sample, of shared matrices and vectors, and of
  /// emitted values.
  int64_t savedBytes = 0, captureBytes = 0, emittedBytes = 0;
};

struct LinkChain {
  std::string name;
  std::vector<MatrixStructure> links;
  /// Present if links are applied as code; otherwise their matrices are available.
  std::optional<RegionCost> region;
  /// True if a cotangent is added before every link, so products combine affine pairs (J, s).
  bool hasInjected = false;
  /// True if the result of the last link is needed.
  bool withInitial = false;
  int64_t batch = 1;
  int64_t elementBytes = 4;
  /// True if cotangents may have zeros, as in the FLOP counts of the paper's code. Generated code
  /// does not exploit them.
  bool sparseCotangents = false;
};

/// The operations between two barriers.
struct LevelCost {
  enum class Phase { Linearize, Up, Middle, Down, Emit };

  /// Operations of the same type on matrices of the same structure.
  struct Group {
    enum class Kind { Linearize, Compose, Apply, Emit };
    Kind kind;
    std::string first, second, result;
    int64_t count = 0;
    int64_t flops = 0;
  };
  struct Operation {
    Group::Kind kind;
    int64_t left, right, out;
    MatrixStructure result;
    int64_t flops;
  };

  Phase phase;
  std::vector<Group> groups;
  std::vector<Operation> operations;
  int64_t copies = 0;
  int64_t flops = 0;
  /// FLOPs of the costliest operation for one sample.
  int64_t maxFlops = 0;
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
  /// Bytes of the stored links, and peak bytes in addition to them.
  int64_t linkBytes = 0, peakBytes = 0;
  std::vector<LevelCost> levels;
  std::vector<Makespan> makespans;
  struct Drawing {
    std::string plan;
    int64_t numLinks = 0;
    std::vector<LevelCost> levels;
  };
  std::optional<Drawing> drawing;
};

struct EvaluationOptions {
  std::vector<int64_t> workers = {1};
  /// Cost of a barrier or launch in FLOPs of a worker, once per level, or once per sweep if the
  /// steps of a chunk need no barrier.
  int64_t stepOverhead = 0;
  int64_t maxOperations = 64;
  /// Treatment of the first chunk; GPU programs compute a matrix for it.
  FirstChunk firstChunk = FirstChunk::Vector;
};

/// Evaluates `plan` on `chain`, which has at least one link and whose neighbouring links compose
/// (`findMismatch`). Returns nothing if the plan leaves a choice to the run time.
std::optional<PlanEvaluation> evaluatePlan(const LinkChain &chain, PlanAttr plan,
                                           const EvaluationOptions &options);

/// Returns the first link, counted from 1, that does not compose with the previous one; 0 if all
/// do.
int64_t findMismatch(const LinkChain &chain);

/// Returns the makespan of a greedy longest-first schedule of `tasks`: pairs of FLOPs and number of
/// such tasks.
int64_t getMakespan(std::vector<std::pair<int64_t, int64_t>> tasks, int64_t workers);

} // namespace bppsa

#endif // BPPSA_COSTMODEL_PLANEVALUATION_H
