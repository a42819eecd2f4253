//===- StageMail.h - Messages between stages --------------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_RUNTIME_DISTRIBUTED_STAGEMAIL_H
#define BPPSA_LIB_RUNTIME_DISTRIBUTED_STAGEMAIL_H

#include "bppsa/Runtime/Distributed/Ranks.h"
#include "bppsa/Runtime/Model.h"
#include "bppsa/Simulator/Pipeline.h"

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
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

  /// What is sent and received from here on is taken back by endTrial(false), before whose call all
  /// that was expected is received: that receives what other ranks have sent in their trials and
  /// this one has not received yet. Ranks take back together.
  void beginTrial() { trial.emplace(); }
  void endTrial(bool isKept);

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

  /// A message of a trial.
  struct Sent {
    int64_t from, to, channel;
    uint64_t bytes;
  };
  struct Trial {
    std::vector<Sent> sent;
    /// By channel.
    std::map<int64_t, int64_t> received;
  };

  bool isOwn(int stage) const { return model.stages[stage].rank == ranks.rank(); }
  void start(const Receipt &receipt, void *data, std::function<void()> arrived);

  Ranks &ranks;
  const Model &model;
  /// What parts receive of other ranks, as far as they have run; that which runs for the first
  /// time.
  std::map<Part, std::vector<Receipt>> receipts;
  std::vector<Receipt> *learned = nullptr;
  /// The stage of the part that runs.
  int current = 0;
  std::optional<Trial> trial;
  /// By channel.
  std::map<int64_t, std::deque<std::shared_ptr<Arrival>>> expected;
  /// Of channels between stages of this rank.
  std::map<int64_t, std::deque<std::shared_ptr<void>>> kept;
};

} // namespace bppsa::runtime

#endif // BPPSA_LIB_RUNTIME_DISTRIBUTED_STAGEMAIL_H
