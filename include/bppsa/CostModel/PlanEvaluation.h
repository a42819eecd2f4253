//===- PlanEvaluation.h - what a scan plan costs on a chain -----*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// Costs of the operations that a `ScanSchedule` lists, the list that the
// compiler executes, for a chain whose links have known structure. Figures are
// defined in docs/Explanation/PlanEvaluator.md. One multiply-add counts as two FLOPs.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_COSTMODEL_PLANEVALUATION_H
#define BPPSA_COSTMODEL_PLANEVALUATION_H

#include "bppsa/Dialect/BPPSA/Analysis/ScanSchedule.h"
#include "bppsa/Dialect/Jacobian/Analysis/MatrixStructure.h"
#include <string>

namespace bppsa {

/// What it costs to apply a link that is a region of code, a step of a recurrent
/// cell. Linear and chunked plans never form its Jacobian; trees form those that
/// they read, of its factors or column by column. FLOPs are those of one sample, and of one column.
struct RegionCost {
  /// Computing the cotangents of the states alone, the emitted values alone, and
  /// both; parts that the two share are in each.
  int64_t stateFlops = 0, emitFlops = 0, fullFlops = 0;
  /// Forming the Jacobian from its factors, where these are known.
  std::optional<int64_t> factoredFlops = std::nullopt;
  /// Bytes of the activations of one step and sample, of the matrices and vectors
  /// that all steps share, and of what one step emits for a sample.
  int64_t savedBytes = 0, captureBytes = 0, emittedBytes = 0;
};

/// The links of a chain in the order in which cotangents go through them.
struct LinkChain {
  std::string name;
  std::vector<MatrixStructure> links;
  /// Present where links are applied as code; else their matrices are at hand.
  std::optional<RegionCost> region;
  /// Whether a cotangent is added before every link; then products are of affine
  /// pairs (J, s).
  bool hasInjected = false;
  /// Whether the value that leaves the last link is wanted.
  bool withInitial = false;
  int64_t batch = 1;
  int64_t elementBytes = 4;
  /// Treats cotangents as vectors that may have zeros, which the FLOP counts of
  /// the paper's code do; generated code does not.
  bool sparseCotangents = false;
};

/// What is done between two barriers.
struct LevelCost {
  enum class Phase { Linearize, Up, Middle, Down, Emit };

  /// Operations of the same kind on matrices of the same structure.
  struct Group {
    enum class Kind { Linearize, Compose, Apply, Emit };
    Kind kind;
    /// Structures; of the second operand only for compose and apply.
    std::string first, second, result;
    int64_t count = 0;
    int64_t flops = 0;
  };
  /// An operation for the drawing of a tree; values are numbered as in a schedule,
  /// and a copy has the number of what it copies.
  struct Operation {
    Group::Kind kind;
    /// -1 where there is none.
    int64_t left, right, out;
    MatrixStructure result;
    /// Of one sample.
    int64_t flops;
  };

  Phase phase;
  std::vector<Group> groups;
  std::vector<Operation> operations;
  int64_t copies = 0;
  /// Of all operations and samples.
  int64_t flops = 0;
  /// Of the costliest operation, for one sample.
  int64_t maxFlops = 0;
  /// Operands read and results written.
  int64_t bytes = 0;
  /// How many times the level is repeated: equal levels in a row are one.
  int64_t repeat = 1;

  int64_t count(Group::Kind kind) const;
};

/// The time of `workers` workers, in FLOPs of one of them.
struct Makespan {
  int64_t workers;
  int64_t flops;
};

struct PlanEvaluation {
  std::string plan;
  int64_t numLinks = 0;
  /// Products on the longest path, and levels with a product.
  int64_t depth = 0, steps = 0;
  int64_t composes = 0, applies = 0, copies = 0;
  int64_t flops = 0;
  /// The sum over levels of the costliest operation: the paper's critical path.
  int64_t criticalPathFlops = 0;
  /// The costliest chain of operations that need each other's results.
  int64_t spanFlops = 0;
  int64_t maxFlops = 0;
  int64_t bytes = 0;
  /// Links that are stored, and the most that products and cotangents need
  /// beside them at a time.
  int64_t linkBytes = 0, peakBytes = 0;
  std::vector<LevelCost> levels;
  std::vector<Makespan> makespans;
  /// The operations of a plan like this one on the first few links, where all are too many to be
  /// listed.
  struct Drawing {
    std::string plan;
    int64_t numLinks = 0;
    std::vector<LevelCost> levels;
  };
  std::optional<Drawing> drawing;
};

/// What to compute besides the costs of the levels.
struct EvaluationOptions {
  std::vector<int64_t> workers = {1};
  /// The cost of a barrier or launch, in FLOPs of a worker; added to makespans for
  /// every step, or for every sweep where steps of a chunk follow each other without.
  int64_t stepOverhead = 0;
  /// Lists operations one by one for chains of at most so many links.
  int64_t maxOperations = 64;
  /// What programs do with the first chunk: those for GPUs have a matrix.
  FirstChunk firstChunk = FirstChunk::Vector;
};

/// Evaluates `plan` on `chain`, which has at least one link and whose neighbouring
/// links compose (`findMismatch`). Nothing where the plan leaves a choice to the
/// run time.
std::optional<PlanEvaluation> evaluatePlan(const LinkChain &chain, PlanAttr plan,
                                           const EvaluationOptions &options);

/// The first link, counted from 1, whose columns are not the rows of the link
/// before it; 0 where all compose.
int64_t findMismatch(const LinkChain &chain);

/// The greedy schedule, longest task first, of tasks that do not depend on each
/// other: (FLOPs, number of such tasks). Gives the time of the busiest worker.
int64_t getMakespan(std::vector<std::pair<int64_t, int64_t>> tasks, int64_t workers);

} // namespace bppsa

#endif // BPPSA_COSTMODEL_PLANEVALUATION_H
