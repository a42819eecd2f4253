//===- StageParameters.h - Parameters of pipeline stages ------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_RUNTIME_UPDATES_STAGEPARAMETERS_H
#define BPPSA_LIB_RUNTIME_UPDATES_STAGEPARAMETERS_H

#include "Updates/DeferredUpdate.h"

#include <set>

namespace bppsa::runtime {

std::string stageFunction(const std::string &variant, size_t stage);

/// Parameters that this rank's stages update. All ranks must make the same calls.
class StageParameters {
public:
  StageParameters(Session &session, Ranks &ranks, const std::string &variant,
                  const std::vector<size_t> &groups);

  bool isOwn(size_t stage) const { return model.stages[stage].rank == ranks.rank(); }
  std::vector<FlatRange> rangesOf(size_t stage) const;
  void forEach(const std::function<void(size_t index)> &visit) const;
  void acceptStatistics(size_t stage);

  double sumSquares();
  /// Also sends tied parameters to the ranks that read them.
  void update(const AfterUpdate &average);
  /// keep() saves everything that update() changes.
  void keep();
  void takeBack() { unpack(ranks.rank(), kept); }
  /// Distributes parameters, states and averages to all ranks.
  void settle();

private:
  struct Owned {
    size_t number, index;
  };
  struct Shared {
    int from, to;
    size_t index;
    auto key() const { return std::tie(index, to, from); }
    bool operator<(const Shared &other) const { return key() < other.key(); }
  };

  void findOwners(const std::string &variant);
  void findShared();
  void shareValues();
  template <typename Visit> void forEachOwned(int rank, Visit visit) const;
  template <typename Visit> void forEachArray(int rank, Visit visit);
  void pack(std::string &bytes);
  void unpack(int rank, const std::string &bytes);

  Session &session;
  const Model &model;
  Ranks &ranks;
  /// For each stage, its parameters and the model indices of its running statistics.
  std::vector<std::vector<Owned>> owned;
  std::vector<std::vector<size_t>> statistics;
  std::set<Shared> shared;
  std::string kept;
  bool isSettled = true;
};

} // namespace bppsa::runtime

#endif // BPPSA_LIB_RUNTIME_UPDATES_STAGEPARAMETERS_H
