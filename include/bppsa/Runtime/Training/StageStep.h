//===- StageStep.h - A microbatch in a stage of a pipeline ----------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_RUNTIME_TRAINING_STAGESTEP_H
#define BPPSA_RUNTIME_TRAINING_STAGESTEP_H

#include "bppsa/Runtime/Distributed/StagePort.h"
#include "bppsa/Runtime/Session.h"
#include "bppsa/Runtime/Training/PausedStep.h"
#include "bppsa/Schedule/Pipeline.h"

#include <deque>
#include <memory>
#include <tuple>

namespace bppsa::runtime {

/// What the stages of this rank exchange with each other and with those of other ranks.
class StageMail {
public:
  explicit StageMail(Ranks &ranks, const Model &model) : ranks(ranks), model(model) {}

  /// A part of a stage, and the samples of its microbatch.
  using Part = std::tuple<int, schedule::OpKind, int64_t>;

  /// Messages of a channel are received in the order in which they are sent.
  void send(int stage, int64_t channel, const void *data, uint64_t bytes);
  /// Returns the seconds that it waited.
  double receive(int stage, int64_t channel, void *data, uint64_t bytes);

  /// What is received from here on is what `part` receives.
  void begin(Part part);
  /// Lets what `part` is going to receive arrive while others compute. Returns false where that is
  /// not known: it has not run yet.
  bool expect(Part part);

private:
  struct Arrival {
    std::shared_ptr<void> data;
    bool isThere = false;
  };
  struct Receipt {
    int stage;
    int64_t channel;
    uint64_t bytes;
  };

  bool isOwn(int stage) const { return model.stages[stage].rank == ranks.rank(); }
  void start(const Receipt &receipt, void *data, std::function<void()> arrived);

  Ranks &ranks;
  const Model &model;
  /// What parts receive of other ranks, as far as they have run; that which runs for the first
  /// time.
  std::map<Part, std::vector<Receipt>> receipts;
  std::vector<Receipt> *learned = nullptr;
  /// By channel.
  std::map<int64_t, std::deque<std::shared_ptr<Arrival>>> expected;
  /// Of channels between stages of this rank.
  std::map<int64_t, std::deque<std::shared_ptr<void>>> kept;
};

/// What a microbatch has in memory on this rank.
struct MicrobatchData {
  Batch batch;
  int64_t seed = 0;
  float loss = 0;
  /// In the layout of all gradients.
  Buffer gradients;
};

/// A microbatch in a stage, from its forward to the end of its backward part.
class StageStep : public StagePort {
public:
  /// `function` is that of the stage.
  StageStep(Session &session, StageMail &mail, std::string function, MicrobatchData &data)
      : session(session), mail(mail), function(std::move(function)), data(data) {}

  void beginPhase(int64_t phase) noexcept override;
  void send(int to, int64_t channel, const void *values, uint64_t bytes) noexcept override;
  void receive(int from, int64_t channel, void *values, uint64_t bytes) noexcept override;

  /// Runs the forward part.
  void forward();
  /// Runs the next part, or all that are left; gradients and loss are there then.
  void goOn(bool toEnd);

  /// The seconds that it has waited for other stages.
  double waited() const { return secondsWaited; }
  /// The bytes that the last microbatch sent to each stage.
  const std::map<int, uint64_t> &sentBytes() const { return sent; }

private:
  Call &prepare();

  Session &session;
  StageMail &mail;
  const std::string function;
  MicrobatchData &data;
  double secondsWaited = 0;
  std::map<int, uint64_t> sent;
  /// By the size of the batch.
  std::map<int64_t, Call> calls;
  PausedStep step;
};

} // namespace bppsa::runtime

#endif // BPPSA_RUNTIME_TRAINING_STAGESTEP_H
