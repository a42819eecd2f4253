//===- DelayedNumbers.cpp - What ranks hear of each other later ------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Runtime/Distributed/DelayedNumbers.h"
#include "Tags.h"

using namespace bppsa::runtime;

void DelayedNumbers::give(const std::vector<double> &own) {
  auto step = std::make_shared<Step>();
  step->all.assign(ranks.count(), own);
  step->missing = 2 * (ranks.count() - 1);
  steps.push_back(step);
  MessageLoop &loop = ranks.loop();
  auto ended = [&loop, step] { loop.update([&] { --step->missing; }); };
  uint64_t bytes = own.size() * sizeof(double);
  for (int other = 0; other < ranks.count(); ++other) {
    if (other == ranks.rank())
      continue;
    loop.receive(other, tags::delayed, step->all[other].data(), bytes, ended);
    loop.post({other, tags::delayed, step->all[ranks.rank()].data(), bytes, firstPriority,
               "numbers", ended});
  }
}

std::vector<std::vector<double>> DelayedNumbers::take() {
  std::shared_ptr<Step> step = std::move(steps.front());
  steps.pop_front();
  ranks.loop().wait("numbers", [&] { return step->missing == 0; });
  return std::move(step->all);
}
