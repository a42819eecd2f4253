//===- TrainingSteps.cpp - Compiled steps of a training run ---------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "Training/TrainingSteps.h"
#include "bppsa/Runtime/Error.h"

#include <algorithm>
#include <cmath>

using namespace bppsa::runtime;

void TrainingSteps::use(const std::string &name, const std::vector<int64_t> &wanted) {
  used = name;
  sizes = wanted;
  steps.clear();
  for (int64_t size : sizes)
    if (size > 0) {
      // Only the batch size matters for preparing the step.
      data.resize(size, batch);
      steps[size] = session.prepare(function(used), &batch);
    }
}

void TrainingSteps::choose(const VariantRequest &request, const std::vector<int64_t> &wanted,
                           int64_t count, bool checks) {
  std::vector<int64_t> any(wanted.front(), 0);
  data.gather(any.data(), any.size(), batch);
  VariantChoice choice = chooseVariant(session, request, kind, batch, count);
  auto fits = [&](const VariantInfo *variant) {
    return session.fits(function(variant->name), batch);
  };
  if (checks && std::all_of(choice.others.begin(), choice.others.end(), fits)) {
    others = choice.others;
    for (const VariantInfo *variant : others)
      otherSteps.push_back(session.prepare(function(variant->name), &batch));
    checking = VariantCheck(1 + others.size(), 0, choice.othersCost);
  }
  use(choice.variant->name, wanted);
}

std::string TrainingSteps::start(int64_t size) {
  Call &step = steps.at(size);
  if (isCheckDue(size))
    return check(step);
  double begin = now();
  step.start();
  addStep(now() - begin);
  return "";
}

std::string TrainingSteps::check(Call &step) {
  auto time = [](Call &call) {
    double begin = now();
    call();
    return now() - begin;
  };
  std::vector<double> times = {0};
  for (Call &other : otherSteps)
    times.push_back(time(other));
  times.front() = time(step);
  checking.add(times);
  size_t choice = checking.isOver() ? checking.choice() : 0;
  if (choice == 0)
    return "";
  std::string name = others[choice - 1]->name;
  std::string line = text(name, " in place of ", used, ": it takes ",
                          std::lround(100 * checking.ratio()), " % of its time");
  // use() overwrites the batch.
  use(name, std::vector<int64_t>(sizes));
  return line;
}
