//===- ModuleStep.cpp - The step of an interlocked module ------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Runtime/Updates/ModuleStep.h"
#include "bppsa/Runtime/Error.h"

using namespace bppsa::runtime;

void ModuleStep::run(Batch &batch) {
  auto found = calls.find(batch.samples);
  if (found == calls.end())
    found = calls.emplace(batch.samples, session.prepare(function, &batch)).first;
  {
    StagePortUse use(*this);
    found->second();
  }
  part.reset();
  ++number;
}

void ModuleStep::beginPhase(int64_t phase) noexcept {
  part.emplace(ranks.trace(), TraceEvent::Lane::Computing, text(phase == 0 ? "F " : "B ", number));
}

void ModuleStep::send(int stage, int64_t channel, const void *data, uint64_t bytes) noexcept {
  orExit([&] { mail.send(stage, channel, data, bytes); });
}

void ModuleStep::receive(int stage, int64_t channel, void *data, uint64_t bytes) noexcept {
  orExit([&] { mail.receive(stage, channel, data, bytes); });
}
