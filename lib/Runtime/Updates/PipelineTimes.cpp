//===- PipelineTimes.cpp - Measured times of pipeline stages --------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "Updates/PipelineTimes.h"
#include "bppsa/Runtime/Call.h"

#include <algorithm>

using namespace bppsa;
using namespace bppsa::runtime;

/// The first update is not measured, because it touches memory for the first time.
static constexpr int64_t kFewestUpdates = 2, kFewestMicrobatches = 12;

static double medianOf(std::vector<double> values) {
  if (values.empty())
    return 0;
  auto middle = values.begin() + static_cast<int64_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

void PipelineTimes::add(schedule::PipelineOp op, double time) {
  if (updates > 0)
    seconds[{op.stage, op.kind}].push_back(time);
}

bool PipelineTimes::endUpdate(int64_t count) {
  microbatches += updates > 0 ? count : 0;
  return ++updates >= kFewestUpdates && microbatches >= kFewestMicrobatches;
}

/// Returns the round-trip seconds on the rank of `stage`, 0 on others.
double PipelineTimes::pingPong(int stage, uint64_t forward, uint64_t back) {
  int from = model.stages[stage].rank, to = model.stages[stage + 1].rank;
  constexpr const char *what = "measured";
  std::string received(ranks.rank() == from ? back : forward, '\0');
  if (ranks.rank() == from) {
    double begin = now();
    ranks.send(to, std::string(forward, '\0'), what);
    ranks.receive(to, received.data(), back, what);
    return now() - begin;
  }
  if (ranks.rank() == to) {
    ranks.receive(from, received.data(), forward, what);
    ranks.send(from, std::string(back, '\0'), what);
  }
  return 0;
}

/// Returns one-way seconds from stages of this rank to the next stage on another rank, otherwise 0.
std::vector<double> PipelineTimes::timeHops() {
  constexpr int repeats = 7;
  size_t hops = model.stages.size() - 1;
  std::vector<double> own(2 * hops);
  for (size_t stage = 0; stage < hops; ++stage) {
    auto find = [&](int from, int to) {
      auto found = sent.find({from, to});
      return found == sent.end() ? 0.0 : static_cast<double>(found->second);
    };
    int number = static_cast<int>(stage);
    own[2 * stage] = find(number, number + 1);
    own[2 * stage + 1] = find(number + 1, number);
  }
  std::vector<double> bytes(2 * hops);
  for (const std::vector<double> &part : ranks.gather(own))
    std::transform(bytes.begin(), bytes.end(), part.begin(), bytes.begin(),
                   [](double left, double right) { return std::max(left, right); });
  std::vector<std::vector<double>> times(hops);
  for (int repeat = 0; repeat < repeats; ++repeat)
    for (size_t stage = 0; stage < hops; ++stage)
      if (model.stages[stage].rank != model.stages[stage + 1].rank)
        times[stage].push_back(pingPong(static_cast<int>(stage),
                                        static_cast<uint64_t>(bytes[2 * stage]),
                                        static_cast<uint64_t>(bytes[2 * stage + 1])));
  std::vector<double> medians;
  for (const std::vector<double> &list : times)
    medians.push_back(medianOf(list) / 2);
  return medians;
}

std::vector<schedule::StageCost> PipelineTimes::gather() {
  using schedule::OpKind;
  std::vector<double> own, hops = timeHops();
  for (size_t stage = 0; stage < model.stages.size(); ++stage) {
    for (OpKind kind : {OpKind::F, OpKind::B, OpKind::W})
      own.push_back(medianOf(seconds[{static_cast<int>(stage), kind}]));
    own.push_back(stage < hops.size() ? hops[stage] : 0);
  }
  std::vector<std::vector<double>> all = ranks.gather(own);
  std::vector<schedule::StageCost> costs;
  for (size_t stage = 0; stage < model.stages.size(); ++stage) {
    const double *times = all[model.stages[stage].rank].data() + 4 * stage;
    costs.push_back({times[0], times[1], times[2], times[3]});
  }
  return costs;
}
