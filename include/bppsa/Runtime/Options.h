//===- Options.h - The command line ---------------------------------------------===//
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
  /// train, eval, infer, grad, bench or info; empty: nothing to do (help was printed).
  std::string command;
  std::string data, val, save, checkpoint, resume, log, out;
  std::optional<int64_t> epochs, batch, seed, checkpointEvery, seqLen, threads, tbptt;
  int64_t repeat = 20;
  /// Of programs for the emulated device.
  int64_t emulateSeed = 0;
  std::optional<double> clipNorm, valSplit, ema;
  std::vector<RateRule> rateRules;
  /// f1, auc, confusion
  std::vector<std::string> metrics;
  std::optional<int64_t> patience, accumulate, microbatches;
  /// Bytes of a set that are held, and shuffled, together.
  std::optional<int64_t> shuffleMemory;
  /// What makes an epoch the best one: `loss` or `accuracy`.
  std::optional<std::string> best;
  std::string saveBest;
  std::optional<std::string> schedule;
  /// lr, weight_decay and those of the optimizer.
  std::map<std::string, double> hyper;
  VariantRequest variant;
  std::vector<std::string> batchAxes;
  std::optional<std::string> affinity;
  /// The program that this library is embedded in has data to validate with.
  bool validates = false;
  /// Of programs for several ranks.
  ExchangeOptions exchange;
  Throttle throttle;
  /// Seconds without a message after which a rank that waits ends the run; 0: never.
  double stallTimeout = 600;
  PipelineOptions pipeline;
  /// The file for what ranks did when; empty: none.
  std::string trace;
  /// Ranks have shares of the steps in place of samples.
  bool shardTime = false;
  ShardBackward shardBackward = ShardBackward::Auto;
  bool shuffle = true, quiet = false, calibrate = false, compact = false, lrFind = false;
  /// A loss or gradient that is not finite is traced to the node that made the first NaN.
  bool checkNaN = false;
};

/// Parses the command line of the program that holds `model`; throws UsageError when it is not
/// understood and Error when a value is out of range.
Options parseOptions(int argc, char **argv, const Model &model);

/// Options of `train` by their names without hyphens in front; flags have no value.
using TrainingWords = std::vector<std::pair<std::string, std::optional<std::string>>>;

/// The same for what a caller says of a training run; `validates` where it has data for that.
Options parseSettings(const TrainingWords &words, const Model &model, bool validates);

/// Throws Error when a hyperparameter of `optimizer` is out of range.
void requireHyperRanges(const std::map<std::string, double> &hyper, const std::string &optimizer);

} // namespace bppsa::runtime

#endif // BPPSA_RUNTIME_OPTIONS_H
