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
  /// train, eval, infer, grad, bench or info. Empty if there is nothing to do because help was
  /// printed.
  std::string command;
  std::string data, val, save, checkpoint, resume, log, out;
  std::optional<int64_t> epochs, batch, seed, checkpointEvery, seqLen, threads, tbptt;
  int64_t repeat = 20;
  /// Emulated programs only.
  int64_t emulateSeed = 0;
  std::optional<double> clipNorm, valSplit, ema;
  std::vector<RateRule> rateRules;
  /// Any of f1, auc, confusion.
  std::vector<std::string> metrics;
  std::optional<int64_t> patience, accumulate, microbatches;
  /// Bytes of a data set that are held in memory, and shuffled, together.
  std::optional<int64_t> shuffleMemory;
  /// The criterion for the best epoch: `loss` or `accuracy`.
  std::optional<std::string> best;
  std::string saveBest;
  std::optional<std::string> schedule;
  /// lr, weight_decay and the hyperparameters of the optimizer.
  std::map<std::string, double> hyper;
  VariantRequest variant;
  std::vector<std::string> batchAxes;
  std::optional<std::string> affinity;
  bool validates = false;
  /// Programs for several ranks only.
  ExchangeOptions exchange;
  Throttle throttle;
  /// Seconds that a waiting rank tolerates without a message before it ends the run; 0 for no
  /// limit.
  double stallTimeout = 600;
  PipelineOptions pipeline;
  /// The file for the timeline of all ranks; empty for none.
  std::string trace;
  /// Ranks divide the time steps instead of the samples.
  bool shardTime = false;
  ShardBackward shardBackward = ShardBackward::Auto;
  bool shuffle = true, quiet = false, calibrate = false, compact = false, lrFind = false;
  /// Locate the node that creates the first NaN if the loss or a gradient is not finite.
  bool checkNaN = false;
};

/// Throws UsageError for malformed command lines and Error for values out of range.
Options parseOptions(int argc, char **argv, const Model &model);

/// Options of `train`, named without leading hyphens. Flags have no value.
using TrainingWords = std::vector<std::pair<std::string, std::optional<std::string>>>;

/// Parses the options of an embedding program's training run. `validates`: it provides validation
/// data.
Options parseSettings(const TrainingWords &words, const Model &model, bool validates);

/// Throws Error when a hyperparameter of `optimizer` is out of range.
void requireHyperRanges(const std::map<std::string, double> &hyper, const std::string &optimizer);

} // namespace bppsa::runtime

#endif // BPPSA_RUNTIME_OPTIONS_H
