//===- CarriedUpdate.cpp - Gradients that are formed in the next step ------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Runtime/Updates/CarriedUpdate.h"
#include "bppsa/Runtime/Error.h"
#include "bppsa/Runtime/Updates/ExchangedUpdate.h"

#include <cmath>

using namespace bppsa::runtime;

CarriedUpdate::Step::Step(Session &session, StageMail &mail, const std::string &function,
                          Batch batch)
    : data{std::move(batch), 0, 0, Buffer(session.parameters.gradientCount() * sizeof(float))},
      call(session, mail, function, data) {}

CarriedUpdate::CarriedUpdate(Session &session, Ranks &ranks, const std::string &function,
                             const std::vector<size_t> &groups,
                             const std::function<Batch()> &makeBatch)
    : session(session), trace(ranks.trace()), mail(ranks, session.program.model) {
  const std::vector<ParameterInfo> &infos = session.program.model.parameters;
  for (size_t index = 0; index < infos.size(); ++index)
    if (infos[index].trained) {
      byValues[session.parameters.values(index)] = parameters.size();
      parameters.push_back({index, session.parameters.start(index), infos[index].elements});
    }
  session.splitUpdates(groups);
  for (std::unique_ptr<Step> &step : steps) {
    step = std::make_unique<Step>(session, mail, function, makeBatch());
    step->call.listener = this;
  }
}

/// A step that waits where the run has failed comes to its end while there is somebody to tell.
CarriedUpdate::~CarriedUpdate() {
  for (const std::unique_ptr<Step> &step : steps)
    if (step->call.isPaused())
      orExit([&] { step->call.goOn(/*toEnd=*/true); });
}

void CarriedUpdate::run(int64_t seed) {
  TraceScope scope(trace, TraceEvent::Lane::Computing, text("step ", ++number));
  Step &step = *steps[turn];
  for (Parameter &parameter : parameters)
    parameter.isReady = false;
  step.data.seed = seed;
  step.call.forward();
  if (step.call.isPaused())
    step.call.goOn(/*toEnd=*/false);
  if (error)
    std::rethrow_exception(std::exchange(error, nullptr));
  settle();
  if (step.call.isPaused())
    waiting = &step;
  session.loss = step.data.loss;
}

void CarriedUpdate::update(Average nextAverage, std::string nextWhere) {
  average = std::move(nextAverage);
  where = std::move(nextWhere);
  Step &step = *steps[turn];
  turn = 1 - turn;
  session.parameters.acceptStatistics();
  for (size_t number = 0; number < parameters.size(); ++number) {
    parameters[number].isMissing = true;
    if (!waiting || parameters[number].isReady)
      apply(step, number);
  }
}

void CarriedUpdate::settle() {
  if (waiting)
    finish();
}

/// Lets the step that waits come to its end.
void CarriedUpdate::finish() {
  TraceScope scope(trace, TraceEvent::Lane::Computing, "left");
  Step &step = *std::exchange(waiting, nullptr);
  step.call.goOn(/*toEnd=*/true);
  for (size_t number = 0; number < parameters.size(); ++number)
    if (parameters[number].isMissing)
      apply(step, number);
}

void CarriedUpdate::apply(const Step &step, size_t number) {
  Parameter &parameter = parameters[number];
  parameter.isMissing = false;
  std::copy_n(step.data.gradients.floats() + parameter.start, parameter.size,
              session.parameters.changeGradients() + parameter.start);
  session.parameters.maskGradients(parameter.index);
  if (!std::isfinite(session.squaresOfOne(number)))
    refuseGradients(session, where);
  session.updateOne(number);
  average(parameter.start, parameter.size);
}

void CarriedUpdate::parameterNeeded(const void *values) noexcept {
  auto found = byValues.find(values);
  if (!waiting || error || found == byValues.end() || !parameters[found->second].isMissing)
    return;
  try {
    finish();
  } catch (...) {
    error = std::current_exception();
  }
}

/// Signals of the step that has waited come when nobody asks any more what is ready.
void CarriedUpdate::gradientReady(const void *gradient) noexcept {
  const float *first = steps[turn]->data.gradients.floats();
  for (Parameter &parameter : parameters)
    if (gradient == first + parameter.start)
      parameter.isReady = true;
}
