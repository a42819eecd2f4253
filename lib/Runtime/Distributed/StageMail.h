//===- StageMail.h - Messages between pipeline stages -----------*- C++ -*-===//
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

/// Messages between the stages of this rank and with stages of other ranks.
class StageMail {
public:
  explicit StageMail(Ranks &ranks, const Model &model) : ranks(ranks), model(model) {}

  /// A stage, its operation, and the samples of the microbatch.
  using Part = std::tuple<int, schedule::OpKind, int64_t>;

  /// Messages of one channel arrive in order.
  void send(int stage, int64_t channel, const void *data, uint64_t bytes);
  /// Returns the seconds spent waiting.
  double receive(int stage, int64_t channel, void *data, uint64_t bytes);

  /// The following receives belong to `part`.
  void begin(Part part);
  /// Posts the receives of `part` in advance, so that its messages arrive while other parts run.
  /// Returns false if they are unknown because the part has not run yet.
  bool expect(Part part);

  /// Delimit a trial. endTrial(false) undoes it by receiving and discarding messages that other
  /// ranks sent during their trials and this rank has not received. All expected messages must have
  /// been received before. Collective over all ranks.
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

  /// A message sent during a trial.
  struct Sent {
    int64_t from, to, channel;
    uint64_t bytes;
  };
  struct Trial {
    std::vector<Sent> sent;
    std::map<int64_t, int64_t> received;
  };

  bool isOwn(int stage) const { return model.stages[stage].rank == ranks.rank(); }
  void start(const Receipt &receipt, void *data, std::function<void()> arrived);

  Ranks &ranks;
  const Model &model;
  /// The receives of each part that has run, and of the part running for the first time.
  std::map<Part, std::vector<Receipt>> receipts;
  std::vector<Receipt> *learned = nullptr;
  int current = 0;
  std::optional<Trial> trial;
  /// By channel.
  std::map<int64_t, std::deque<std::shared_ptr<Arrival>>> expected;
  /// Messages between stages of this rank, by channel.
  std::map<int64_t, std::deque<std::shared_ptr<void>>> kept;
};

} // namespace bppsa::runtime

#endif // BPPSA_LIB_RUNTIME_DISTRIBUTED_STAGEMAIL_H
