//===- Progress.h - Progress display of the command train -----------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_RUNTIME_TRAINING_PROGRESS_H
#define BPPSA_LIB_RUNTIME_TRAINING_PROGRESS_H

#include "Training/TrainingObserver.h"

#include <string>

namespace bppsa::runtime {

/// Shows progress on stdout: a bar on a terminal, otherwise a line per epoch and, in long epochs,
/// every ten seconds. If writing fails, warns once.
class Progress final : public TrainingObserver {
public:
  Progress(int64_t epochs, int64_t batchesPerEpoch, bool quiet);
  ~Progress() override;

  void showVariant(const std::string &name) override { variant = name; }
  void showRate(double value) override { rate = value; }
  void batchDone(const TrainState &state, double loss, int64_t samples) override;
  bool epochDone(const EpochRecord &record) override;
  void note(const std::string &line) override;
  /// Prints to stderr even if quiet.
  void warn(const std::string &line) override;
  bool isInterrupted() override;

  /// "1:02:03", "0:07"
  static std::string duration(double seconds);
  /// "[====>     ]"
  static std::string bar(double share, int width);

private:
  std::string status(const TrainState &state, double loss) const;
  void clearBar();
  void show(const std::string &text);

  const int64_t epochs, batchesPerEpoch;
  const bool terminal;
  std::string variant;
  double rate = 0;
  bool quiet, barShown = false;
  double start, lastShown, epochStart;
  int64_t samplesDone = 0, batchesDone = 0, epochSamples = 0;
};

} // namespace bppsa::runtime

#endif // BPPSA_LIB_RUNTIME_TRAINING_PROGRESS_H
