//===- PipelinedUpdate.h - Updates by the stages of a pipeline ------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_RUNTIME_TRAINING_PIPELINEDUPDATE_H
#define BPPSA_RUNTIME_TRAINING_PIPELINEDUPDATE_H

#include "bppsa/Runtime/Distributed/StagePort.h"
#include "bppsa/Runtime/Session.h"
#include "bppsa/Runtime/Training/PausedStep.h"
#include "bppsa/Runtime/Training/PipelineOptions.h"
#include "bppsa/Schedule/Pipeline.h"

#include <functional>
#include <memory>

namespace bppsa::runtime {

/// A microbatch that a stage works on, from its forward to the end of its backward part.
class Microbatch : public StagePort {
public:
  /// `function` is that of the stage; `batch` has memory for full microbatches.
  Microbatch(Session &session, Ranks &ranks, std::string function, Batch batch);

  void beginPhase(int64_t phase) noexcept override;
  void send(int stage, int64_t channel, const void *data, uint64_t bytes) noexcept override;
  void receive(int stage, int64_t channel, void *data, uint64_t bytes) noexcept override;

  /// Runs the forward part on what is in `batch`, with the dropout of `seed`.
  void forward(int64_t seed);
  /// Runs the next part, or all that are left; gradients and loss are there then.
  void goOn(bool toEnd);
  /// A microbatch of which nothing counts has no loss, and is not computed.
  bool counts() const { return weights.front() != 0; }

  Batch batch;
  /// What its samples count.
  std::vector<double> weights;
  const float *gradients() const { return own.floats(); }
  float loss = 0;

private:
  Call &prepare();

  Session &session;
  Ranks &ranks;
  const std::string function;
  /// In the layout of all gradients.
  Buffer own;
  int64_t seed = 0;
  /// By the size of the batch.
  std::map<int64_t, Call> calls;
  PausedStep step;
};

/// The updates of a run in which each rank computes one stage of `variant`: it runs the parts of
/// microbatches in the order of the schedule, adds up their gradients in the order of the
/// microbatches, as one process does, and updates the parameters of its stage. Ranks make the same
/// calls.
class PipelinedUpdate {
public:
  PipelinedUpdate(Session &session, Ranks &ranks, const PipelineOptions &options,
                  const std::string &variant, const std::vector<size_t> &groups);

  /// Fills the microbatch of that number; gives its seed.
  using Fill = std::function<int64_t(int64_t number, Microbatch &microbatch)>;
  /// Computes `count` microbatches, each with memory that `makeBatch` gives. Returns the sums of
  /// the losses, which the last stage knows, over all ranks; the gradients of the stage are there.
  LossSums run(int64_t count, const std::function<Batch()> &makeBatch, const Fill &fill,
               bool &isInterrupted);
  /// The sum of the squares of the gradients of all stages.
  double squares() const { return allSquares; }
  /// Updates the parameters of this stage; `average` follows each, by its place in the flat arrays.
  void update(const std::function<void(int64_t start, int64_t size)> &average);
  /// Throws DivergedError on all ranks, with the first gradient that is not finite.
  [[noreturn]] void refuse(const std::string &where);
  /// Gives all parameters, optimizer states and averages to all ranks.
  void settle();

private:
  struct Owned {
    /// Among trained parameters, and in the model.
    size_t number, index;
  };

  const std::vector<schedule::PipelineOp> &orderOf(int64_t count);
  void findOwners(const std::string &variant);
  Microbatch &takeFree(const std::function<Batch()> &makeBatch);
  void add(const Microbatch &microbatch, std::vector<double> &sums) const;
  void finish(const std::vector<double> &sums, double divisor);
  std::string pack(int stage);
  void unpack(int stage, const std::string &bytes);

  Session &session;
  Ranks &ranks;
  const PipelineOptions options;
  const std::string function;
  /// By stage.
  std::vector<std::vector<Owned>> owned;
  /// The operations of this stage, by the number of microbatches.
  std::map<int64_t, std::vector<schedule::PipelineOp>> orders;
  std::vector<std::unique_ptr<Microbatch>> microbatches;
  std::vector<Microbatch *> free;
  double allSquares = 0;
  /// Whether parameters of other stages may be old.
  bool isSettled = true;
};

} // namespace bppsa::runtime

#endif // BPPSA_RUNTIME_TRAINING_PIPELINEDUPDATE_H
