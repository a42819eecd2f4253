//===- Microbatch.cpp - A microbatch in a stage of a pipeline -------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "../Distributed/Tags.h"
#include "bppsa/Runtime/Error.h"
#include "bppsa/Runtime/Training/PipelinedUpdate.h"

#include <cstring>

using namespace bppsa::runtime;

Microbatch::Microbatch(Session &session, Ranks &ranks, std::string function, Batch batch)
    : batch(std::move(batch)), session(session), ranks(ranks), function(std::move(function)),
      own(session.parameters.gradientCount() * sizeof(float)) {}

/// The call for the size of the batch, with results of its own.
Call &Microbatch::prepare() {
  auto found = calls.find(batch.samples);
  if (found != calls.end())
    return found->second;
  Call &call = calls[batch.samples] = session.prepare(function, &batch);
  const std::vector<std::string> &arguments = session.program.model.functions.at(function);
  const float *shared = session.parameters.changeGradients();
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i] == "loss")
      call.bind(i, &loss);
    else if (arguments[i] == "seed")
      call.bind(i, &seed);
    else if (arguments[i].rfind("grad:", 0) == 0)
      call.bind(i, own.floats() + (static_cast<float *>(call.data(i)) - shared));
  }
  return call;
}

void Microbatch::forward(int64_t nextSeed) {
  seed = nextSeed;
  Call &call = prepare();
  step.start([this, &call] {
    StagePortUse use(*this);
    call();
  });
}

void Microbatch::goOn(bool toEnd) {
  do
    step.resume();
  while (toEnd && step.isPaused());
}

void Microbatch::beginPhase(int64_t phase) noexcept {
  if (phase > 0)
    step.pause();
}

void Microbatch::send(int stage, int64_t channel, const void *data, uint64_t bytes) noexcept {
  orExit([&] {
    auto copy = std::make_shared<Buffer>(bytes);
    memcpy(copy->data(), data, bytes);
    ranks.loop().post({stage, tags::stage(channel), copy->data(), bytes, /*priority=*/0,
                       text("channel ", channel), [copy] {}});
  });
}

void Microbatch::receive(int stage, int64_t channel, void *data, uint64_t bytes) noexcept {
  orExit([&] {
    bool hasArrived = false;
    MessageLoop &loop = ranks.loop();
    loop.receive(stage, tags::stage(channel), data, bytes,
                 [&] { loop.update([&] { hasArrived = true; }); });
    loop.wait("stage", [&] { return hasArrived; });
  });
}
