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

/// The parsed command line.
struct CommandLine {
  /// An ONNX model; empty if `times` describes the layers.
  std::string model;
  int32_t devices = 0, microbatches = 0;

  /// Without a model: the times of a stage for one microbatch if all stages are equal, otherwise
  /// the times of each layer; and the total number of layers.
  std::vector<StageCost> times;
  int32_t layers = 0;

  /// Without a model: a file of hop times between devices, empty if all links are equal; and the
  /// order of the devices, empty for the order with the cheapest hops.
  std::string linksFile;
  std::vector<int32_t> deviceOrder;

  /// Without a model: the number of local losses that train each module, 0 if modules have no local
  /// losses; and the time of such a loss.
  int32_t window = 0;
  double head = 0;

  /// With a model: the samples of a microbatch or of a rank, and their time steps; 0 if not given.
  int32_t batch = 0, steps = 0;
  std::vector<std::string> bindings;
  /// A file of measured times; empty to derive times from operation counts.
  std::string timesFile;
  /// Speed of a device, in GFLOP/s.
  double gflops = 100;
  /// Bandwidth of a link, and its latency in seconds.
  double bytesPerSecond = 0, latency = 0;

  double deferredMemory = 0.5;
  std::optional<double> memoryLimit;
  bool forwardFirst = false;
  /// Nullopt for `auto`.
  std::optional<ScheduleKind> schedule;
  /// Set if each rank has a copy of the whole model.
  std::optional<Exchange> exchange;
  /// True if ranks exchange gradients like compiled programs.
  bool byOwners = false;
  double messageShare = 0;
  int32_t slice = 50000;
  /// Layers of reverse first-k; nullopt for `auto`.
  std::optional<int32_t> reversed;

  /// File of the drawing; empty for none.
  std::string gantt;
  bool json = false;
};

/// Throws runtime::UsageError if a step has too many operations to be simulated within minutes.
void checkSize(int64_t layers, int64_t microbatches);

/// Returns nullopt after printing --help or --version. Throws runtime::UsageError.
std::optional<CommandLine> parseCommandLine(int argc, char **argv);

} // namespace bppsa::schedule

#endif // BPPSA_TOOLS_BPPSA_SCHEDULE_COMMANDLINE_H
