//===- StepRun.cpp - A compiled step on a microbatch ----------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "Updates/StepRun.h"
#include "bppsa/Runtime/Error.h"

#include <cstring>

using namespace bppsa::runtime;

Microbatch::Microbatch(const Model &model, Batch batch, Buffer gradients)
    : batch(std::move(batch)), gradients(std::move(gradients)) {
  if (size_t count = model.losses.size(); count > 1)
    losses.resize(count);
}

StepRun::StepRun(Session &session, Ranks &ranks, StageMail &mail, std::string function,
                 Microbatch &microbatch, StepPorts given, Parts parts)
    : session(session), ranks(ranks), mail(mail), function(std::move(function)),
      microbatch(microbatch), ports(given) {
  ports.stage = this;
  if (parts == Parts::Pausing)
    thread.emplace();
}

StepRun::~StepRun() {
  orExit([this] { drop(); });
}

Call &StepRun::find() {
  auto found = calls.find(microbatch.batch.samples);
  if (found != calls.end())
    return found->second;
  Call &call = calls[microbatch.batch.samples] = session.prepare(function, &microbatch.batch);
  if (microbatch.gradients.size() == 0)
    return call;
  const Model &model = session.program.model;
  const std::vector<std::string> &arguments = model.functions.at(function);
  const float *shared = session.parameters.changeGradients();
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i] == "loss")
      call.bind(i, &microbatch.loss);
    else if (arguments[i] == "seed")
      call.bind(i, &microbatch.seed);
    else if (arguments[i].rfind("grad:", 0) == 0)
      call.bind(i, microbatch.gradients.floats() + (static_cast<float *>(call.data(i)) - shared));
    for (size_t k = 0; k < microbatch.losses.size(); ++k)
      if (arguments[i] == "loss" + model.suffixOf(model.losses[k]))
        call.bind(i, &microbatch.losses[k]);
  }
  return call;
}

void StepRun::start() {
  Call &call = find();
  sent.clear();
  auto run = [this, &call] {
    StepPortsUse use(ports);
    call();
  };
  if (thread)
    return thread->start(run);
  run();
  part.reset();
  ++number;
}

void StepRun::resume(bool toEnd) {
  do
    thread->resume();
  while (toEnd && isPaused());
}

void StepRun::drop() {
  if (!isPaused())
    return;
  isDropped = true;
  resume(/*toEnd=*/true);
  isDropped = false;
}

void StepRun::beginPhase(int64_t phase) noexcept {
  if (!thread)
    part.emplace(ranks.trace(), TraceEvent::Lane::Computing,
                 text(phase == 0 ? "F " : "B ", number));
  else if (phase > 0)
    thread->pause();
  if (isDropped)
    currentPorts().shard = nullptr;
}

void StepRun::send(int to, int64_t channel, const void *values, uint64_t bytes) noexcept {
  if (isDropped)
    return;
  orExit([&] {
    sent[to] += bytes;
    mail.send(to, channel, values, bytes);
  });
}

void StepRun::receive(int from, int64_t channel, void *values, uint64_t bytes) noexcept {
  if (isDropped) {
    memset(values, 0, bytes);
    return;
  }
  orExit([&] { secondsWaited += mail.receive(from, channel, values, bytes); });
}
