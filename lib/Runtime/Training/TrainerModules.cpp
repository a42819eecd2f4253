//===- TrainerModules.cpp - Training modules on ranks of their own ---------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Runtime/Error.h"
#include "bppsa/Runtime/Training/Trainer.h"

#include <cmath>

using namespace bppsa::runtime;

void Trainer::prepareModules() {
  mail = std::make_unique<StageMail>(ranks, model);
  modules = std::make_unique<StepRun>(session, ranks, *mail,
                                      text("step.", settings.variant, ".stage", ranks.rank()),
                                      wholeStep, StepPorts{}, StepRun::Parts::Joined);
}

void Trainer::updateModule() {
  const LossInfo &own = model.losses[ranks.rank()];
  if (float loss = session.lossOf(ranks.rank()); !std::isfinite(loss))
    failDiverged(stepName(), text("the loss of ", quote(own.output), " is ", loss));
  session.parameters.maskGradients();
  double squares = pipeline->sumSquares();
  if (!std::isfinite(squares))
    refuseGradients(session, stepName());
  if (settings.clipNorm) {
    double all = 0;
    for (const std::vector<double> &part : ranks.gather(std::vector<double>{squares}))
      all += part.front();
    session.clipGradients(all, *settings.clipNorm);
  }
  pipeline->update(startAveraging());
  session.parameters.acceptStatistics();
}

void Trainer::report(double loss, double weight) {
  reports.push_back(ranks.startGather({observer->isInterrupted() ? 1.0 : 0.0, loss, weight}));
  // Twice what keeps all modules busy; a search looks at each step.
  takeReports(searchedRate ? 0 : 2 * ranks.count());
}

void Trainer::takeReports(size_t most) {
  while (reports.size() > most) {
    std::vector<std::vector<double>> all = ranks.finishGather(*reports.front());
    reports.pop_front();
    for (size_t i = 0; i < all.size(); ++i) {
      isInterrupted |= all[i][0] != 0;
      if (double weight = all[i][2]; weight != 0)
        state.losses.add(i, all[i][1], weight);
    }
  }
}
