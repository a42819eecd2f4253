//===- Options.h - The command line ---------------------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_RUNTIME_OPTIONS_H
#define BPPSA_RUNTIME_OPTIONS_H

#include "bppsa/Runtime/Distributed/GradientExchange.h"
#include "bppsa/Runtime/Distributed/ShardScan.h"
#include "bppsa/Runtime/Training/RateRules.h"
#include "bppsa/Runtime/Updates/PipelineOptions.h"
#include "bppsa/Runtime/Variants/Dispatch.h"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace bppsa::runtime {

struct Options {
  std::string command;
  std::string data, val, save, checkpoint, resume, log, out;
  std::optional<int64_t> epochs, batch, seed, checkpointEvery, seqLen, threads, tbptt;
  int64_t repeat = 20;
  int64_t emulateSeed = 0;
  std::optional<double> clipNorm, valSplit, ema;
  std::vector<RateRule> rateRules;
  std::vector<std::string> metrics;
  std::optional<int64_t> patience, accumulate, microbatches;
  /// Bytes of a data set that are held in memory and shuffled together.
  std::optional<int64_t> shuffleMemory;
  /// `loss` or `accuracy`.
  std::optional<std::string> best;
  std::string saveBest;
  std::optional<std::string> schedule;
  std::map<std::string, double> hyper;
  VariantRequest variant;
  std::vector<std::string> batchAxes;
  std::optional<std::string> affinity;
  bool validates = false;
  ExchangeOptions exchange;
  Throttle throttle;
  /// Seconds without a message before a waiting rank ends the run; 0 for no limit.
  double stallTimeout = 600;
  PipelineOptions pipeline;
  std::string trace;
  /// Ranks divide the time steps instead of the samples.
  bool shardTime = false;
  ShardBackward shardBackward = ShardBackward::Auto;
  bool shuffle = true, quiet = false, calibrate = false, compact = false, lrFind = false;
  /// Locate the node that creates the first NaN.
  bool checkNaN = false;
};

/// Throws UsageError for malformed command lines, Error for values out of range.
Options parseOptions(int argc, char **argv, const Model &model);

using TrainingWords = std::vector<std::pair<std::string, std::optional<std::string>>>;

/// `validates` is true if the embedding program provides validation data.
Options parseSettings(const TrainingWords &words, const Model &model, bool validates);

void requireHyperRanges(const std::map<std::string, double> &hyper, const std::string &optimizer);

} // namespace bppsa::runtime

#endif // BPPSA_RUNTIME_OPTIONS_H
