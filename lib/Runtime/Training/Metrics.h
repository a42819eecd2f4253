//===- Metrics.h - Training metrics as JSON lines -------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_RUNTIME_TRAINING_METRICS_H
#define BPPSA_LIB_RUNTIME_TRAINING_METRICS_H

#include "Training/Checkpoint.h"

#include <nlohmann/json.hpp>

namespace bppsa::runtime {

/// {"epoch", "loss", "val_loss", "val_accuracy", "seconds", "load_seconds", "lr", "variant"}, and
/// for several losses "losses", a list of {"loss_on", "loss", "val_loss", "val_accuracy"}.
/// Undefined values are null.
nlohmann::ordered_json toJson(const EpochRecord &record);
EpochRecord recordOf(const nlohmann::json &object);

/// The file of --log, one JSON object per epoch. A resumed run first rewrites the epochs of its
/// checkpoint.
class MetricsLog {
public:
  /// Throws Error if the file cannot be written. Does not create it.
  explicit MetricsLog(const std::string &path);
  ~MetricsLog();
  MetricsLog(const MetricsLog &) = delete;

  /// Writes new records of `history`. On failure, throws Error and leaves the file unchanged; the
  /// next call tries again.
  void add(const std::vector<EpochRecord> &history);

private:
  std::string path;
  int descriptor = -1;
  size_t written = 0;
};

} // namespace bppsa::runtime

#endif // BPPSA_LIB_RUNTIME_TRAINING_METRICS_H
