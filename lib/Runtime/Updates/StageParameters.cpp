//===- StageParameters.cpp - Parameters of pipeline stages ----------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "Updates/StageParameters.h"
#include "bppsa/Runtime/Error.h"

#include <algorithm>
#include <cstring>

using namespace bppsa::runtime;

std::string bppsa::runtime::stageFunction(const std::string &variant, size_t stage) {
  return text("step.", variant, ".stage", stage);
}

StageParameters::StageParameters(Session &session, Ranks &ranks, const std::string &variant,
                                 const std::vector<size_t> &groups)
    : session(session), model(session.program.model), ranks(ranks) {
  findOwners(variant);
  findShared();
  session.splitUpdates(groups);
}

/// A stage owns the parameters whose gradients it computes.
void StageParameters::findOwners(const std::string &variant) {
  owned.resize(model.stages.size());
  statistics.resize(model.stages.size());
  for (size_t stage = 0; stage < model.stages.size(); ++stage) {
    const std::vector<std::string> &arguments = model.functions.at(stageFunction(variant, stage));
    auto has = [&](const std::string &word) {
      return std::find(arguments.begin(), arguments.end(), word) != arguments.end();
    };
    for (size_t index = 0, number = 0; index < model.parameters.size(); ++index) {
      const ParameterInfo &info = model.parameters[index];
      if (info.statistic && has("updated:" + info.name))
        statistics[stage].push_back(index);
      if (info.trained && has("grad:" + info.name))
        owned[stage].push_back({number, index});
      number += info.trained;
    }
  }
}

void StageParameters::findShared() {
  for (int from = 0; from < ranks.count(); ++from)
    forEachOwned(from, [&](const Owned &own) {
      for (const StageInfo &stage : model.stages)
        if (stage.rank != from && std::count(stage.reads.begin(), stage.reads.end(),
                                             model.parameters[own.index].name) > 0)
          shared.insert({from, stage.rank, own.index});
    });
}

template <typename Visit> void StageParameters::forEachOwned(int rank, Visit visit) const {
  for (size_t stage = 0; stage < model.stages.size(); ++stage)
    if (model.stages[stage].rank == rank)
      std::for_each(owned[stage].begin(), owned[stage].end(), visit);
}

std::vector<FlatRange> StageParameters::rangesOf(size_t stage) const {
  std::vector<FlatRange> ranges;
  for (const Owned &own : owned[stage])
    ranges.push_back({session.parameters.start(own.index), model.parameters[own.index].elements});
  return ranges;
}

void StageParameters::forEach(const std::function<void(size_t index)> &visit) const {
  forEachOwned(ranks.rank(), [&](const Owned &own) { visit(own.index); });
}

void StageParameters::acceptStatistics(size_t stage) {
  for (size_t index : statistics[stage])
    session.parameters.acceptStatistic(index);
}

double StageParameters::sumSquares() {
  double sum = 0;
  forEachOwned(ranks.rank(), [&](const Owned &own) { sum += session.squaresOfOne(own.number); });
  return sum;
}

void StageParameters::update(const AfterUpdate &average) {
  isSettled = false;
  forEachOwned(ranks.rank(), [&](const Owned &own) {
    session.updateOne(own.number);
    average(session.parameters.start(own.index), model.parameters[own.index].elements);
  });
  shareValues();
}

void StageParameters::shareValues() {
  constexpr const char *what = "tied parameters";
  for (const Shared &each : shared) {
    size_t size = model.parameters[each.index].elements * sizeof(float);
    if (ranks.rank() == each.from)
      ranks.send(each.to,
                 {reinterpret_cast<const char *>(session.parameters.values(each.index)), size},
                 what);
    else if (ranks.rank() == each.to)
      ranks.receive(each.from, session.parameters.changeValues(each.index), size, what);
  }
}

template <typename Visit> void StageParameters::forEachArray(int rank, Visit visit) {
  Parameters &parameters = session.parameters;
  auto visitFloats = [&](size_t index, float *array) {
    visit(reinterpret_cast<char *>(array), model.parameters[index].elements * sizeof(float));
  };
  forEachOwned(rank, [&](const Owned &own) {
    visitFloats(own.index, parameters.changeValues(own.index));
    for (size_t which = 0; which < parameters.stateCount(); ++which)
      visitFloats(own.index, parameters.changeState(which, own.index));
    if (parameters.hasAverage())
      visitFloats(own.index, parameters.changeAverage(own.index));
  });
  for (size_t stage = 0; stage < model.stages.size(); ++stage)
    if (model.stages[stage].rank == rank)
      for (size_t index : statistics[stage])
        visitFloats(index, parameters.changeValues(index));
}

void StageParameters::pack(std::string &bytes) {
  // Keeps the capacity.
  bytes.clear();
  forEachArray(ranks.rank(), [&](const char *array, size_t size) { bytes.append(array, size); });
}

void StageParameters::unpack(int rank, const std::string &bytes) {
  const char *next = bytes.data();
  forEachArray(rank, [&](char *array, size_t size) {
    memcpy(array, next, size);
    next += size;
  });
}

void StageParameters::keep() { pack(kept); }

void StageParameters::settle() {
  if (isSettled)
    return;
  isSettled = true;
  std::string own;
  pack(own);
  std::vector<std::string> all = ranks.gather(own, "parameters");
  for (int rank = 0; rank < ranks.count(); ++rank)
    if (rank != ranks.rank())
      unpack(rank, all[rank]);
}
