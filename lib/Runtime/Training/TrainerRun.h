//===- TrainerRun.h - A training run --------------------------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_RUNTIME_TRAINERRUN_H
#define BPPSA_LIB_RUNTIME_TRAINERRUN_H

#include "bppsa/Runtime/Files/BatchLoader.h"
#include "bppsa/Runtime/Options.h"
#include "bppsa/Runtime/Training/Checkpoint.h"
#include "bppsa/Runtime/Training/Metrics.h"
#include "bppsa/Runtime/Training/Progress.h"
#include "bppsa/Runtime/Training/Schedule.h"
#include "bppsa/Runtime/Training/Segments.h"
#include "bppsa/Runtime/Training/TrainingSteps.h"

#include <functional>
#include <memory>

namespace bppsa::runtime {

/// One call of `train`, whose settings and state a checkpoint keeps.
class Trainer {
public:
  Trainer(const Program &program, const Options &options);
  int run();
  /// Runs steps with rising rates, prints their losses and a rate that they suggest; nothing is
  /// saved. Returns the exit status.
  int searchRate();

private:
  void checkOutputs();
  /// Says which samples train and which validate.
  void splitSamples();
  void resume();
  void requireSense() const;
  void applyOptions();
  void prepareSteps();

  /// Puts the samples of this epoch in their order.
  void orderSamples();
  bool runEpoch();
  /// Samples of an update, and of that of this number in an epoch.
  int64_t updateSize() const { return settings.batch * settings.accumulate; }
  int64_t sizeOfBatch(int64_t number) const;
  int64_t trainedCount() const { return static_cast<int64_t>(trained.size()); }
  /// Samples of the batch that begins with the sample of number `first` of an epoch.
  int64_t sizeAt(int64_t first) const;
  /// Fills the batch with the samples of the epoch that are next.
  void fill();
  void runBatch();
  /// Adds up the gradients of the batches of an update, by what their losses count.
  void runAccumulated();
  /// Steps and updates on the segments of the batch, one after the other.
  void runSegments();
  /// 1, or the number of segments of a sequence.
  int64_t updatesPerBatch() const;
  bool finishEpoch();
  /// Evaluates on what validates; false where a signal asks to stop.
  bool validate(EpochRecord &record);
  /// Notes whether the epoch of `record` is the best one so far, and saves the model then.
  void noteBest(const EpochRecord &record);
  bool isPatienceOver() const;
  void setHyper();
  /// The optimizer's step, and what follows from new weights.
  void update();
  /// Adds the mean losses of the last step, or those that `sums` say, to those of the epoch; each
  /// counts as `weights` say.
  void addLosses(const std::vector<double> &weights);
  void addLosses(const LossSums &sums, const std::vector<double> &weights);
  void checkStep();
  /// Says that the checks of the variant ended with another one; empty: they did not.
  void noteChange(const std::string &change);
  std::string position() const;
  std::string describeKept() const;
  void saveCheckpoint();
  void attempt(bool &failed, const std::function<void()> &write);
  int interrupted();

  const Program &program;
  const Model &model;
  const Options &options;
  Dataset data;
  std::optional<Dataset> validation;
  /// The samples of `data` that train, and those that validate of `data` or `validation`.
  std::vector<int64_t> trained, validated;
  Session session;
  TrainSettings settings;
  TrainState state;
  MetricsLog log;
  Schedule schedule{"constant"};
  /// In place of that of the schedule.
  std::optional<double> searchedRate;
  /// That of the losses of the epochs before this one.
  double plateauScale = 1;
  int64_t epochs, batchesPerEpoch = 1;
  Batch batch;
  /// The samples of this epoch, and the number of the batch that `batch` was filled with ahead of
  /// its time.
  std::vector<int64_t> order;
  std::unique_ptr<BatchLoader> loader;
  std::optional<int64_t> filledAhead;
  TrainingSteps steps{session, data, trained, batch};
  /// Where sequences are cut.
  std::unique_ptr<Segments> segments;
  std::unique_ptr<Progress> progress;
  /// Where training stood when the file of --checkpoint was written; empty: it is not of this run.
  std::string kept;
  /// The last attempt to write the file failed.
  bool checkpointFailed = false, logFailed = false, bestFailed = false;
};

} // namespace bppsa::runtime

#endif // BPPSA_LIB_RUNTIME_TRAINERRUN_H
