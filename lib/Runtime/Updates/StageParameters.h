//===- StageParameters.h - The parameters of pipeline stages --------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_RUNTIME_UPDATES_STAGEPARAMETERS_H
#define BPPSA_LIB_RUNTIME_UPDATES_STAGEPARAMETERS_H

#include "Updates/DeferredUpdate.h"

#include <set>

namespace bppsa::runtime {

/// The function of `stage`.
std::string stageFunction(const std::string &variant, size_t stage);

/// The parameters that the stages of this rank update. All ranks make the same calls.
class StageParameters {
public:
  StageParameters(Session &session, Ranks &ranks, const std::string &variant,
                  const std::vector<size_t> &groups);

  bool isOwn(size_t stage) const { return model.stages[stage].rank == ranks.rank(); }
  /// The ranges of the gradients of `stage` in the flat array.
  std::vector<FlatRange> rangesOf(size_t stage) const;
  /// Calls `visit` with the number in the model of each parameter of this rank.
  void forEach(const std::function<void(size_t index)> &visit) const;
  /// Takes over the running statistics that `stage` has computed.
  void acceptStatistics(size_t stage);

  /// The sum of the squares of the gradients of this rank.
  double sumSquares();
  /// Updates the parameters of this rank and sends tied ones to other ranks that read them.
  void update(const AfterUpdate &average);
  /// Copies what update() is going to change, and writes the copy back.
  void keep();
  void takeBack() { unpack(ranks.rank(), kept); }
  /// Gives parameters, optimizer states and averages to all ranks.
  void settle();

private:
  struct Owned {
    /// Among trained parameters, and in the model.
    size_t number, index;
  };
  /// A parameter that a stage of `from` updates and one of `to` reads too.
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
  /// By stage: the parameters whose gradients it computes, and its running statistics, by their
  /// numbers in the model.
  std::vector<std::vector<Owned>> owned;
  std::vector<std::vector<size_t>> statistics;
  std::set<Shared> shared;
  std::string kept;
  /// Whether this rank has the last values of other ranks.
  bool isSettled = true;
};

} // namespace bppsa::runtime

#endif // BPPSA_LIB_RUNTIME_UPDATES_STAGEPARAMETERS_H
