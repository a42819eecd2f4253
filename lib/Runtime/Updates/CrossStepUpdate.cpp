//===- CrossStepUpdate.cpp - Gradients computed during the next step ------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "Updates/CrossStepUpdate.h"
#include "bppsa/Runtime/Error.h"

#include <algorithm>

using namespace bppsa::runtime;

CrossStepUpdate::CrossStepUpdate(Session &session, Ranks &ranks, const std::string &function,
                                 const std::vector<size_t> &groups,
                                 const std::function<Batch()> &makeBatch)
    : DeferredUpdate(session, groups), trace(ranks.trace()), mail(ranks, session.program.model) {
  for (std::unique_ptr<Step> &step : steps)
    step = std::make_unique<Step>(*this, ranks, function, makeBatch());
}

void CrossStepUpdate::run() {
  TraceScope scope(trace, TraceEvent::Lane::Computing, text("step ", ++number));
  Step &step = *steps[turn];
  for (Parameter &parameter : parameters)
    parameter.isReady = false;
  step.call.start();
  if (step.call.isPaused())
    step.call.resume(/*toEnd=*/false);
  rethrow();
  settle();
  if (step.call.isPaused())
    waiting = &step;
  session.loss = step.data.loss;
  if (!step.data.losses.empty())
    session.losses = step.data.losses;
}

void CrossStepUpdate::update(UpdateRule next) {
  rule = std::move(next);
  source = steps[turn].get();
  turn = 1 - turn;
  session.parameters.acceptStatistics();
  for (size_t number = 0; number < parameters.size(); ++number) {
    parameters[number].isPending = true;
    if (!waiting || parameters[number].isReady)
      apply(number);
  }
}

void CrossStepUpdate::settle() {
  if (!waiting)
    return;
  TraceScope scope(trace, TraceEvent::Lane::Computing, "left");
  std::exchange(waiting, nullptr)->call.resume(/*toEnd=*/true);
  for (size_t number = 0; number < parameters.size(); ++number)
    if (parameters[number].isPending)
      apply(number);
}

void CrossStepUpdate::collect(size_t number) {
  Parameter &parameter = parameters[number];
  parameter.isPending = false;
  std::copy_n(source->data.gradients.floats() + parameter.range.start, parameter.range.size,
              session.parameters.changeGradients() + parameter.range.start);
  session.parameters.maskGradients(parameter.index);
}

/// Called for the running step; the paused step has other gradient addresses.
void CrossStepUpdate::gradientReady(const void *gradient) noexcept {
  const float *first = steps[turn]->data.gradients.floats();
  for (Parameter &parameter : parameters)
    if (gradient == first + parameter.range.start)
      parameter.isReady = true;
}
