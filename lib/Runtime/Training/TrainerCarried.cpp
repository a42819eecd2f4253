//===- TrainerCarried.cpp - Steps that leave gradients to the next one -----===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Runtime/Error.h"
#include "bppsa/Runtime/Training/Trainer.h"

using namespace bppsa::runtime;

void Trainer::prepareCarried() {
  carried.reset();
  std::string function = stepFunction();
  // Programs for several ranks tell when gradients are final, too.
  if (isDistributedProgram() || !data.set || segments || settings.accumulate > 1 ||
      settings.clipNorm || model.firstUses.count(function) == 0)
    return;
  carried =
      std::make_unique<CarriedUpdate>(session, ranks, function, groupsOf(model, settings.rateRules),
                                      [this] { return data.set->newBatch(capacity()); });
}

bool Trainer::beginCarried() {
  if (!carried)
    return false;
  if (!steps->isCheckDue(sizeOfBatch(state.batch)))
    return true;
  // All variants are timed on whole steps, of which nothing is left.
  carried->settle();
  return false;
}

void Trainer::runCarried() {
  fill(state.batch * updateSize(), carried->next().batch);
  std::vector<double> weights = carried->next().batch.lossWeights();
  requireCounted(weights);
  drawSeed(state.step);
  double begin = now();
  carried->next().seed = session.seed;
  carried->run();
  steps->addStep(now() - begin);
  requireFiniteLoss();
  setHyper();
  carried->update({stepName(), startAveraging()});
  // A search ends at the step whose gradients are not finite.
  if (searchedRate)
    carried->settle();
  addLosses(weights);
  ++state.batch;
  ++state.step;
}
