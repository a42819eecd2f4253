//===- CommandLine.h - the flags of bppsa-schedule --------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_TOOLS_BPPSA_SCHEDULE_COMMANDLINE_H
#define BPPSA_TOOLS_BPPSA_SCHEDULE_COMMANDLINE_H

#include "bppsa/Simulator/PipelineSchedules.h"
#include <optional>
#include <string>

namespace bppsa::schedule {

/// How ranks with a copy of the whole model exchange gradients.
enum class Exchange { Barrier, AllReduce, P3, Dear, ReverseFirst };

struct CommandLine {
  /// Empty if `times` describes the layers.
  std::string model;
  int32_t devices = 0, microbatches = 0;

  /// Without a model: the microbatch times of a stage if all are equal, otherwise of each layer;
  /// and the number of layers.
  std::vector<StageCost> times;
  int32_t layers = 0;

  /// Without a model: hop times between devices, empty if all links are equal; and the order of
  /// devices, empty for the cheapest.
  std::string linksFile;
  std::vector<int32_t> deviceOrder;

  /// Without a model: the local losses that train each module (0 for none), and their time.
  int32_t window = 0;
  double head = 0;

  /// With a model: the samples of a microbatch or of a rank, and the time steps; 0 if not given.
  int32_t batch = 0, steps = 0;
  std::vector<std::string> bindings;
  /// If empty, times follow from operation counts.
  std::string timesFile;
  double gflops = 100;
  /// The latency is in seconds.
  double bytesPerSecond = 0, latency = 0;

  double deferredMemory = 0.5;
  std::optional<double> memoryLimit;
  bool forwardFirst = false;
  /// Nullopt for `auto`.
  std::optional<ScheduleKind> schedule;
  /// Set if each rank has a copy of the model.
  std::optional<Exchange> exchange;
  bool byOwners = false;
  double messageShare = 0;
  int32_t slice = 50000;
  /// The layers of reverse first-k; nullopt for `auto`.
  std::optional<int32_t> reversed;

  std::string gantt;
  bool json = false;
};

/// Throws runtime::UsageError if simulation would take more than minutes.
void checkSize(int64_t layers, int64_t microbatches);

/// Returns nullopt after --help or --version. Throws runtime::UsageError.
std::optional<CommandLine> parseCommandLine(int argc, char **argv);

} // namespace bppsa::schedule

#endif // BPPSA_TOOLS_BPPSA_SCHEDULE_COMMANDLINE_H
