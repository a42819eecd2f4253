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

class StageMail {
public:
  explicit StageMail(Ranks &ranks, const Model &model) : ranks(ranks), model(model) {}

  using Part = std::tuple<int, schedule::OpKind, int64_t>;

  /// Messages of a channel arrive in order.
  void send(int stage, int64_t channel, const void *data, uint64_t bytes);
  /// Returns the seconds spent waiting.
  double receive(int stage, int64_t channel, void *data, uint64_t bytes);

  void begin(Part part);
  /// Posts the receives of `part`, so that messages arrive while other parts run. Returns false if
  /// the part has not run yet.
  bool expect(Part part);

  /// endTrial(false) undoes a trial by discarding messages of other ranks' trials. All expected
  /// messages must have been received. Collective.
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
  std::map<Part, std::vector<Receipt>> receipts;
  std::vector<Receipt> *learned = nullptr;
  int current = 0;
  std::optional<Trial> trial;
  std::map<int64_t, std::deque<std::shared_ptr<Arrival>>> expected;
  std::map<int64_t, std::deque<std::shared_ptr<void>>> kept;
};

} // namespace bppsa::runtime

#endif // BPPSA_LIB_RUNTIME_DISTRIBUTED_STAGEMAIL_H
