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

/// How ranks that hold the whole model exchange gradients.
enum class Exchange { Barrier, AllReduce, P3, Dear, ReverseFirst };

/// What the command line asks for.
struct CommandLine {
  /// An ONNX model; empty where `times` describe equal layers.
  std::string model;
  int32_t devices = 0, microbatches = 0;

  /// Without a model: what a stage takes of a microbatch, where all are equal, or what each layer
  /// takes, and the layers of all stages together.
  std::vector<StageCost> times;
  int32_t layers = 0;

  /// Without a model: a file of the times of hops between devices, empty where all take as long;
  /// and which device stands where, empty for the order with the least hops.
  std::string linksFile;
  std::vector<int32_t> deviceOrder;

  /// Without a model: losses after which modules with losses of their own learn, 0 for none, and
  /// the time of such a loss.
  int32_t window = 0;
  double head = 0;

  /// With a model: the samples of a microbatch, or of a rank, and their steps; 0 where they are not
  /// given.
  int32_t batch = 0, steps = 0;
  std::vector<std::string> bindings;
  /// A file of measured times; empty for counts.
  std::string timesFile;
  /// Of a device, in 10^9 FLOPs a second.
  double gflops = 100;
  /// Of a link; the latency in seconds.
  double bytesPerSecond = 0, latency = 0;

  double deferredMemory = 0.5;
  std::optional<double> memoryLimit;
  bool forwardFirst = false;
  /// Nothing for `auto`.
  std::optional<ScheduleKind> schedule;
  /// Present where ranks have the whole model.
  std::optional<Exchange> exchange;
  /// Whether they exchange gradients as programs do.
  bool byOwners = false;
  double messageShare = 0;
  int32_t slice = 50000;
  /// Of reverse first-k; nothing for `auto`.
  std::optional<int32_t> reversed;

  /// Empty for no drawing.
  std::string gantt;
  bool json = false;
};

/// Throws runtime::UsageError where a step has more operations than can be simulated in minutes.
void checkSize(int64_t layers, int64_t microbatches);

/// Nothing after --help or --version, which have been printed. Throws runtime::UsageError.
std::optional<CommandLine> parseCommandLine(int argc, char **argv);

} // namespace bppsa::schedule

#endif // BPPSA_TOOLS_BPPSA_SCHEDULE_COMMANDLINE_H
