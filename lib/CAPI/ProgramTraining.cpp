//===- ProgramTraining.cpp - training of compiled programs ----------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "ProgramHandle.h"
#include "Tensors.h"

using namespace bppsa;
using namespace bppsa::capi;
using namespace bppsa::runtime;

static TrainingWords toWords(const BppsaSetting *settings, intptr_t count) {
  TrainingWords words;
  for (intptr_t i = 0; i < count; ++i) {
    const char *value = (&require(settings, "the list of settings"))[i].value;
    words.emplace_back(&require(settings[i].name, "the name of a setting"),
                       value ? std::optional<std::string>(value) : std::nullopt);
  }
  return words;
}

static TrainingSource toSource(const BppsaTrainingSource *given) {
  TrainingSource source;
  if (!given)
    return source;
  source.arrays = toArguments(given->arrays, given->numArrays);
  if (!given->next)
    return source;
  if (!source.arrays.empty())
    throw UsageError("a source of samples has arrays and a loader");
  if (given->numBatches >= 0)
    source.batches = given->numBatches;
  source.next = [given](ArrayArguments &arrays) {
    const BppsaNamedArray *found = nullptr;
    intptr_t count = 0;
    switch (given->next(&found, &count, given->userData)) {
    case BppsaNextBatch:
      arrays = toArguments(found, count);
      return BatchState::Given;
    case BppsaEpochEnd:
      return BatchState::EpochEnd;
    default:
      return BatchState::RunEnd;
    }
  };
  return source;
}

static BppsaTrainingEvent toEvent(const TrainingEvent &event) {
  auto textOf = [](const std::string &text) { return text.empty() ? nullptr : text.c_str(); };
  return {
      event.epoch, event.epochs, event.batch,          event.batches.value_or(-1), event.step,
      event.loss,  event.rate,   textOf(event.record), textOf(event.message),      event.isWarning};
}

BppsaStatus bppsaProgramFit(BppsaProgram program, const BppsaSetting *settings,
                            intptr_t numSettings, const BppsaTrainingSource *train,
                            const BppsaTrainingSource *validation, BppsaTrainingCallback callback,
                            void *userData) {
  auto call = [&](const TrainingEvent &event) {
    BppsaTrainingEvent own = toEvent(event);
    return callback && callback(&own, userData);
  };
  return use<&bppsaProgramFit>(
      program,
      [&](EmbeddedProgram &own) {
        own.fit(toWords(settings, numSettings), toSource(train), toSource(validation), call);
      },
      settings, numSettings, train, validation, callback, userData);
}
