//===- PipelinedUpdate.h - Updates by the stages of a pipeline ------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_RUNTIME_UPDATES_PIPELINEDUPDATE_H
#define BPPSA_RUNTIME_UPDATES_PIPELINEDUPDATE_H

#include "Updates/StepRun.h"
#include "bppsa/Runtime/Updates/PipelineTimes.h"
#include "bppsa/Runtime/Updates/StageOrders.h"

#include <functional>
#include <memory>
#include <set>

namespace bppsa::runtime {

/// A microbatch on a rank, from its first forward to the end of its last backward part.
struct StagedMicrobatch {
  Microbatch data;
  bool counts() const { return data.weights.front() != 0; }
  /// By the stages of this rank, and how many of them have not ended.
  std::map<int, std::unique_ptr<StepRun>> steps;
  size_t open = 0;
};

/// The updates of a run in which each rank computes stages of `variant`: it runs the parts of
/// microbatches in the order of the schedule, adds up their gradients in the order of the
/// microbatches, as one process does, and updates the parameters of its stages. Ranks make the same
/// calls.
class PipelinedUpdate {
public:
  PipelinedUpdate(Session &session, Ranks &ranks, const PipelineOptions &options,
                  const std::string &variant, const std::vector<size_t> &groups);

  /// Makes the orders of updates of `count` microbatches, which take time to find. Returns a line
  /// that describes them. Throws Error where there are none.
  std::string prepare(int64_t count);

  /// Fills the microbatch of that number; they are filled in turn.
  using Fill = std::function<void(int64_t number, StagedMicrobatch &microbatch)>;
  /// Computes `count` microbatches, each with memory that `makeBatch` gives; `size` are the samples
  /// of a whole one. The gradients of the rank's stages are there then. Returns what the samples
  /// count. After keep() it calls `validate` when no more may run before: whether the last update
  /// is to stay as it is. Where that has changed parameters, the step begins again.
  double run(int64_t count, int64_t size, const std::function<Batch()> &makeBatch, const Fill &fill,
             const std::function<bool()> &validate);
  /// The sum of the squares of the gradients of this rank's stages.
  double ownSquares() const { return squares; }
  /// The same, of the gradients that the session has.
  double sumSquares();

  /// What the ranks know of an update together.
  struct Outcome {
    LossSums losses;
    double squares = 0;
    bool isInterrupted = false;
  };
  /// Tells the other ranks of the update, and whether this one is to end the run.
  void tell(bool isInterrupted);
  /// Whether there is an update whose outcome has not been taken.
  bool hasOutcome() const { return told != nullptr; }
  /// Waits for the others.
  Outcome takeOutcome();
  /// Updates the parameters of this rank; `average` follows each, by its place in the flat arrays.
  void update(const std::function<void(int64_t start, int64_t size)> &average);
  /// Whether the outcome is there, or likely to be there sooner than keep() has kept what changes.
  bool isOutcomeNear() const;
  /// Keeps what update() is going to change until it stays as it is, or is taken back.
  void keep();
  bool isKept() const { return isProvisional; }
  void accept() { isProvisional = false; }
  void takeBack();
  /// What the first rank says where the update has changed the schedule; else empty.
  std::string noteOfUpdate(int64_t count);
  /// Throws DivergedError on all ranks, with the first gradient that is not finite.
  [[noreturn]] void refuse(const std::string &where);
  /// Gives all parameters, optimizer states and averages to all ranks.
  void settle();

private:
  struct Owned {
    /// Among trained parameters, and in the model.
    size_t number, index;
  };
  /// A parameter that a stage of `from` updates, and that one of `to` reads, too.
  struct Shared {
    int from, to;
    size_t index;
    auto key() const { return std::tie(index, to, from); }
    bool operator<(const Shared &other) const { return key() < other.key(); }
  };
  /// What an update adds up.
  struct Sums {
    double loss = 0, weight = 0;
    /// The stages of this rank to which a microbatch has added gradients.
    std::set<int> stages;
  };

  bool isOwn(size_t stage) const { return model.stages[stage].rank == ranks.rank(); }
  void findOwners();
  void findShared();
  void shareValues();
  template <typename Visit> void forEachOwned(int rank, Visit visit) const;
  size_t runAhead(int64_t count, const std::function<void(size_t begin, size_t end)> &runOps,
                  const std::function<void(size_t i)> &drop, const std::function<bool()> &validate);
  StagedMicrobatch &takeFree(const std::function<Batch()> &makeBatch);
  void runPart(schedule::PipelineOp op, StagedMicrobatch &microbatch, int64_t size);
  StageMail::Part partOf(schedule::PipelineOp op, const StagedMicrobatch &microbatch) const {
    return {op.stage, op.kind, microbatch.data.batch.samples};
  }
  bool expect(schedule::PipelineOp op, const StagedMicrobatch &microbatch);
  void addGradients(int stage, const StagedMicrobatch &microbatch, bool isFirst);
  void finish();
  std::string nameOf(schedule::PipelineOp op) const;
  template <typename Visit> void forEachArrayOf(int rank, Visit visit);
  std::string pack(int rank);
  void unpack(int rank, const std::string &bytes);

  Session &session;
  const Model &model;
  Ranks &ranks;
  const std::string variant;
  StageOrders orders;
  /// Until enough is measured.
  std::unique_ptr<PipelineTimes> times;
  StageMail mail;
  /// By stage: the parameters whose gradients it has, and the running statistics that it computes,
  /// by their numbers in the model.
  std::vector<std::vector<Owned>> owned;
  std::vector<std::vector<size_t>> statistics;
  std::set<Shared> shared;
  std::vector<std::unique_ptr<StagedMicrobatch>> microbatches;
  std::vector<StagedMicrobatch *> free;
  /// Doubles, in the layout of all gradients: the sums of those of this rank's stages.
  Buffer gradientSums;
  /// Of the last update, and what it has told.
  Sums sums;
  double squares = 0;
  std::shared_ptr<Ranks::Gathering> told;
  double toldWeight = 0;
  /// What this rank had before its last update, while that may be taken back.
  std::string kept;
  bool isProvisional = false;
  /// What keep() takes, and how long after tell() the last outcome was there.
  double keepSeconds = 0, outcomeSeconds = 0;
  /// Whether parameters of other stages may be old.
  bool isSettled = true;
};

} // namespace bppsa::runtime

#endif // BPPSA_RUNTIME_UPDATES_PIPELINEDUPDATE_H
