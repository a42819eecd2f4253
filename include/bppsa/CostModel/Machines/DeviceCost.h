//===- DeviceCost.h - GPU cost of a backward pass ---------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// The cost model of docs/Explanation/GPUCosts.md. Independent of MLIR and of the run time, because
// both use it.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_COSTMODEL_MACHINES_DEVICECOST_H
#define BPPSA_COSTMODEL_MACHINES_DEVICECOST_H

#include "bppsa/CostModel/Machines/ChunkRule.h"

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace bppsa::cost {

/// Applying a link to a cotangent, or to a column of a transition; applying a transition to a
/// cotangent; multiplying transitions.
enum class Work { Walk, Column, Carry, Product };
inline constexpr size_t kNumWorks = 4;
inline constexpr std::array<const char *, kNumWorks> workNames = {"walk", "column", "carry",
                                                                  "product"};

/// Cost of one step of a thread block, counted by the compiler.
struct StepCost {
  /// Latency in cycles of a block that runs without others.
  double cycles = 0;
  /// Instructions that each warp issues per step.
  double instructions = 0;
  int64_t warps = 1;
  /// Estimated number of resident blocks per multiprocessor.
  int64_t resident = 1;
  /// Average number of columns that a block processes at once.
  double columns = 1;
};

/// Properties of a chain that do not depend on T and B.
struct ChainCost {
  /// Total rows of all states, and columns of a transition's matrix: 1 for diagonals.
  int64_t rows = 1, columns = 1;
  /// True if transitions also have an offset.
  bool hasOffset = false;
  /// Bytes per step and sample.
  int64_t savedBytes = 0, emittedBytes = 0;
  /// Indexed by Work.
  std::array<StepCost, kNumWorks> steps;

  const StepCost &of(Work work) const { return steps[static_cast<size_t>(work)]; }
  StepCost &of(Work work) { return steps[static_cast<size_t>(work)]; }
};

/// Returns the rule for GPU chunk lengths of a chain, by its counts (docs/Explanation/GPUCosts.md).
/// Independent of the GPU, because it is compiled into programs.
ChunkRule getChunkRule(const ChainCost &chain);

struct Plan {
  enum class Kind { Sequential, Chunked, Tree };
  Kind kind = Kind::Sequential;
  /// Chunk length (0: chosen from T and B), or number of tree levels (-1: all).
  int64_t size = 0;
};

/// Parses "", linear, auto, chunked, chunked:C, blelloch or hybrid:L; returns nothing for other
/// texts.
std::optional<Plan> parsePlan(const std::string &text);

/// One launch, or several launches in sequence.
struct Phase {
  Work work;
  double launches, steps, blocks, bytes;
};

/// Returns the launches of `plan` for `steps` time steps and `samples` samples.
std::vector<Phase> getPhases(const ChainCost &chain, Plan plan, int64_t steps, int64_t samples);

/// Constants of a GPU. Times are in microseconds unless stated otherwise.
struct DeviceConstants {
  std::string name;
  double multiprocessors = 0;
  /// Memory bandwidth in bytes per microsecond.
  double bandwidth = 0;
  double launch = 0;
  /// Indexed by Work: nanoseconds per latency cycle, and per warp instruction on one of four
  /// schedulers.
  std::array<double, kNumWorks> cycle = {}, issue = {};
  /// Time outside the chains: once per pass, and nanoseconds per step and sample.
  double rest = 0, restPerPosition = 0;
};

/// Returns constants of an H200 from its data sheet and estimates; none are measured.
DeviceConstants shippedH200();

/// The bottleneck of a phase: dependent steps, instruction issue or memory bandwidth.
enum class Bound { Latency, Issue, Memory };

/// Returns cycles, instructions per scheduler and bytes of a phase, one for each Bound.
std::array<double, 3> getUnits(const Phase &phase, const StepCost &step, double multiprocessors);

double predictPhase(const Phase &phase, const StepCost &step, const DeviceConstants &constants,
                    Bound *bound = nullptr);

/// Returns the microseconds of a backward pass over `chains` in sequence.
double predict(const std::vector<ChainCost> &chains, Plan plan, int64_t steps, int64_t samples,
               const DeviceConstants &constants);

} // namespace bppsa::cost

#endif // BPPSA_COSTMODEL_MACHINES_DEVICECOST_H
