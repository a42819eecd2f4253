//===- DeviceCost.h - what a backward pass costs on a GPU -------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// The cost model of docs/Explanation/GPUCosts.md. The compiler counts instructions (StepCost), the
// plan says how often and how many at a time they run (Phase), and a GPU has its constants. It
// knows neither MLIR nor the run time, which both use it: for reports, and to choose.
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

/// What the steps of a kernel do: apply a link to a cotangent; apply it to a column of a map;
/// apply a map to a cotangent; multiply maps.
enum class Work { Walk, Column, Carry, Product };
inline constexpr size_t kNumWorks = 4;
inline constexpr std::array<const char *, kNumWorks> workNames = {"walk", "column", "carry",
                                                                  "product"};

/// One step of a block of threads, as counted by the compiler.
struct StepCost {
  /// Cycles that pass in a step when a block is alone.
  double cycles = 0;
  /// Instructions that each of its warps issues in a step.
  double instructions = 0;
  int64_t warps = 1;
  /// Blocks that a multiprocessor holds, as an estimate.
  int64_t resident = 1;
  /// Columns that a block works on at a time, on the average.
  double columns = 1;
};

/// What is known of a chain before T and B are.
struct ChainCost {
  /// Rows of its states together, and columns of the matrix of a map: 1 for diagonals.
  int64_t rows = 1, columns = 1;
  /// Whether maps have an offset too.
  bool hasOffset = false;
  /// Of one step and sample.
  int64_t savedBytes = 0, emittedBytes = 0;
  /// By Work.
  std::array<StepCost, kNumWorks> steps;

  const StepCost &of(Work work) const { return steps[static_cast<size_t>(work)]; }
  StepCost &of(Work work) { return steps[static_cast<size_t>(work)]; }
};

/// The lengths of chunks on a GPU, by the counts of a chain (docs/Explanation/GPUCosts.md). They
/// are part of compiled programs, so no GPU is asked.
ChunkRule getChunkRule(const ChainCost &chain);

/// A backward pass over a chain.
struct Plan {
  enum class Kind { Sequential, Chunked, Tree };
  Kind kind = Kind::Sequential;
  /// Steps of a chunk, 0: chosen by T and B; levels of a tree, -1: all.
  int64_t size = 0;
};

/// Reads "", linear, auto, chunked, chunked:C, blelloch or hybrid:L; none for anything else.
std::optional<Plan> parsePlan(const std::string &text);

/// A launch, or several that follow each other.
struct Phase {
  Work work;
  double launches, steps, blocks, bytes;
};

/// The launches of `plan` at `steps` time steps and `samples` samples.
std::vector<Phase> getPhases(const ChainCost &chain, Plan plan, int64_t steps, int64_t samples);

/// What a GPU takes for its parts; times in microseconds but where another unit is said.
struct DeviceConstants {
  std::string name;
  double multiprocessors = 0;
  /// Bytes of memory in a microsecond.
  double bandwidth = 0;
  double launch = 0;
  /// By Work: nanoseconds of a cycle that somebody waits for, and of an instruction of a warp on
  /// one of the four schedulers of a multiprocessor.
  std::array<double, kNumWorks> cycle = {}, issue = {};
  /// What every plan takes besides chains: once, and nanoseconds for each step of a sample.
  double rest = 0, restPerPosition = 0;
};

/// An H200 by its data sheet and by estimates: nothing of this was measured.
DeviceConstants shippedH200();

/// What bounds a phase: the chain of dependent steps, the instructions or the memory.
enum class Bound { Latency, Issue, Memory };

/// How many units of the constant behind each Bound a phase takes: cycles, instructions of a
/// scheduler, bytes.
std::array<double, 3> getUnits(const Phase &phase, const StepCost &step, double multiprocessors);

/// Microseconds of a phase, and what bounds it.
double predictPhase(const Phase &phase, const StepCost &step, const DeviceConstants &constants,
                    Bound *bound = nullptr);

/// Microseconds of a backward pass over `chains`, one after the other.
double predict(const std::vector<ChainCost> &chains, Plan plan, int64_t steps, int64_t samples,
               const DeviceConstants &constants);

} // namespace bppsa::cost

#endif // BPPSA_COSTMODEL_MACHINES_DEVICECOST_H
