//===- TrainerStream.cpp - Training on batches of a caller ------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Runtime/Error.h"
#include "bppsa/Runtime/Training/Random.h"
#include "bppsa/Runtime/Training/Trainer.h"

using namespace bppsa::runtime;

/// What sets alone can do.
void Trainer::requireStreamable() const {
  auto refuse = [](bool isGiven, const char *flag, const char *remedy) {
    if (isGiven)
      fail(flag, ": needs a training set of arrays or files, found a loader of batches; ", remedy);
  };
  refuse(settings.valSplit.has_value(), "--val-split", "give samples of their own as --val");
  refuse(settings.tbptt.has_value(), "--tbptt",
         "let the loader give segments with the states before them, or give whole sequences");
  if (schedule.dependsOnLength() && batchesPerEpoch == 0)
    fail("--lr-schedule: ", quote(settings.schedule), " needs a loader with a length");
}

void Trainer::skipBatches() {
  int64_t count = state.batch * settings.accumulate;
  hasStreamEnded = false;
  for (int64_t i = 0; i < count && !hasStreamEnded; ++i) {
    hasStreamEnded = !data.stream->next();
    // The last update of an epoch may have fewer.
    if (hasStreamEnded && i <= count - settings.accumulate)
      fail(quote(options.resume), ": was written after batch ", count, " of epoch ",
           state.epoch + 1, ", but the loader has only ", i);
  }
}

bool Trainer::takeGiven() {
  if (hasStreamEnded)
    return false;
  double begin = now();
  given = data.stream->next();
  state.loadSeconds += now() - begin;
  hasStreamEnded = !given;
  if (given)
    givenSamples += given->samples;
  return given != nullptr;
}

bool Trainer::findBatch() {
  if (!data.stream)
    return state.batch < batchesPerEpoch;
  givenSamples = 0;
  if (!takeGiven() && state.batch == 0)
    fail("the loader has no batches");
  return given != nullptr;
}

void Trainer::requireProportional(const std::vector<double> &weights,
                                  const std::vector<double> &first) const {
  for (size_t i = 1; i < weights.size(); ++i)
    if (weights[i] * first.front() != first[i] * weights.front())
      fail("--accumulate: the batches of update ", state.batch + 1, " of epoch ", state.epoch + 1,
           " have losses (", model.lossOutputs(),
           ") that count in other proportions, so that the gradients of their sum cannot be put "
           "together; leave --accumulate out");
}

void Trainer::runGiven() {
  session.seed = static_cast<int64_t>(stepSeed(settings.seed, state.step));
  std::vector<double> weights = given->lossWeights();
  given->requireWeight(text("batch ", state.batch + 1, " of epoch ", state.epoch + 1));
  data.stream->compute();
  finishStep();
  addLosses(weights);
  ++state.batch;
  ++state.step;
}

std::optional<Evaluation> Trainer::evaluateAll() {
  auto isAskedToStop = [&] { return observer->isInterrupted(); };
  if (!data.validationStream)
    return evaluate(session, validationData(), validated, settings.batch, ranks, isAskedToStop);
  EvaluationSums sums(model);
  int64_t number = 0;
  while (const Batch *batch = data.validationStream->next()) {
    if (isAskedToStop())
      return std::nullopt;
    std::string what = text("batch ", ++number, " of the validation");
    batch->requireWeight(what);
    data.validationStream->compute();
    sums.add(session, *batch, what);
  }
  if (number == 0)
    fail("the loader of the validation has no batches");
  return sums.result();
}
