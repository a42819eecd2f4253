//===- ExchangedUpdate.cpp - Updates by the gradients of all ranks ----------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Runtime/Updates/ExchangedUpdate.h"
#include "bppsa/Runtime/Error.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <utility>

using namespace bppsa::runtime;

void bppsa::runtime::failDiverged(const std::string &where, const std::string &what) {
  throw DivergedError(text(where, ": ", what, "; use a smaller --lr or --clip-norm"));
}

void bppsa::runtime::refuseGradients(Session &session, const std::string &where) {
  try {
    requireFiniteGradients(session);
  } catch (const Error &error) {
    failDiverged(where, error.what());
  }
  failDiverged(where, "the norm of all gradients is not finite");
}

std::vector<ExchangedUpdate::Parameter> ExchangedUpdate::trainedOf(const Session &session) {
  std::vector<Parameter> trained;
  const std::vector<ParameterInfo> &infos = session.program.model.parameters;
  for (size_t i = 0; i < infos.size(); ++i)
    if (infos[i].trained)
      trained.push_back({i, {session.parameters.start(i), infos[i].elements}});
  return trained;
}

std::vector<FlatRange> ExchangedUpdate::rangesOf(const std::vector<Parameter> &parameters) {
  std::vector<FlatRange> ranges;
  for (const Parameter &parameter : parameters)
    ranges.push_back(parameter.range);
  return ranges;
}

std::vector<size_t> ExchangedUpdate::orderOf(const std::string &step) const {
  std::vector<size_t> order;
  if (!isTold) {
    order.resize(parameters.size());
    std::iota(order.begin(), order.end(), 0);
    return order;
  }
  const Model &model = session.program.model;
  std::map<std::string, size_t> numbers;
  for (size_t number = 0; number < parameters.size(); ++number)
    numbers[model.parameters[parameters[number].index].name] = number;
  for (const std::string &name : model.firstUses.at(step))
    order.push_back(numbers.at(name));
  return order;
}

ExchangedUpdate::ExchangedUpdate(Session &session, Ranks &ranks, const ExchangeOptions &options,
                                 const std::string &step, const std::vector<size_t> &groups,
                                 bool areWeighted)
    : session(session), ranks(ranks), areWeighted(areWeighted), parameters(trainedOf(session)),
      isTold(options.kind != ExchangeOptions::Kind::Barrier &&
             session.program.model.firstUses.count(step) != 0),
      order(orderOf(step)),
      exchange(ranks, session.parameters.changeGradients(), rangesOf(parameters), order, options) {
  session.splitUpdates(groups);
  const float *gradients = session.parameters.changeGradients();
  for (size_t number = 0; number < parameters.size(); ++number) {
    byValues[session.parameters.values(parameters[number].index)] = number;
    byGradient[gradients + parameters[number].range.start] = number;
  }
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

void ExchangedUpdate::run(const StepShare &next, bool gives, const std::function<void()> &step) {
  share = next;
  if (!isTold)
    settle();
  else if (gives)
    scale = scaleOf(share.weight);
  {
    StepListening listening(*this);
    step();
  }
  scale.reset();
  if (error)
    std::rethrow_exception(std::exchange(error, nullptr));
}

void ExchangedUpdate::parameterNeeded(const void *values) noexcept {
  if (error)
    return;
  try {
    apply(byValues.at(values));
  } catch (...) {
    error = std::current_exception();
  }
}

void ExchangedUpdate::gradientReady(const void *gradient) noexcept {
  if (error || !scale)
    return;
  try {
    give(byGradient.at(gradient));
  } catch (...) {
    error = std::current_exception();
  }
}

void ExchangedUpdate::shareMeans(float *means, int64_t count, bool areCotangents) noexcept {
  if (error)
    return;
  try {
    // Of no samples there is nothing to add, whatever the step was run on.
    std::vector<double> own(count);
    if (share.samples > 0)
      std::transform(means, means + count, own.begin(), [&](double value) {
        return areCotangents ? value : value * static_cast<double>(share.samples);
      });
    std::vector<double> sums(count);
    for (const std::vector<double> &part : ranks.gather(own, "statistics"))
      std::transform(sums.begin(), sums.end(), part.begin(), sums.begin(), std::plus<>());
    auto factor = static_cast<double>(areCotangents ? share.samples : 1);
    std::transform(sums.begin(), sums.end(), means, [&](double sum) {
      return static_cast<float>(sum * factor / static_cast<double>(share.allSamples));
    });
  } catch (...) {
    error = std::current_exception();
  }
}

void ExchangedUpdate::give(size_t number) {
  if (!std::exchange(parameters[number].isGiven, true))
    exchange.give(number, *scale);
}

void ExchangedUpdate::giveRest(double weight) {
  settle();
  // A device leaves its gradients in host memory.
  session.parameters.changeGradients();
  scale = scaleOf(weight);
  for (size_t i = order.size(); i-- > 0;)
    give(order[i]);
  scale.reset();
  for (Parameter &parameter : parameters)
    parameter.isGiven = false;
}

//===----------------------------------------------------------------------===//
// Updates
//===----------------------------------------------------------------------===//

void ExchangedUpdate::update(UpdateRule next) {
  rule = std::move(next);
  for (Parameter &parameter : parameters)
    parameter.isPending = true;
}

void ExchangedUpdate::discard() {
  for (size_t number : order)
    exchange.take(number);
}

void ExchangedUpdate::settle() {
  for (size_t number : order)
    apply(number);
}

void ExchangedUpdate::apply(size_t number) {
  if (!parameters[number].isPending)
    return;
  // The norm is that of all gradients; where no step runs meanwhile, one call does for all.
  if (rule.clipNorm || !isTold)
    return applyAll();
  collect(number);
  if (!std::isfinite(session.squaresOfOne(number)))
    refuse();
  session.updateOne(number);
  addToAverage(number);
}

void ExchangedUpdate::applyAll() {
  for (size_t number : order)
    collect(number);
  double squares = session.gradientSquares();
  if (!std::isfinite(squares))
    refuse();
  if (rule.clipNorm)
    session.clipGradients(squares, *rule.clipNorm);
  // What the next step computes of statistics may be there already.
  session.update(/*takesStatistics=*/false);
  for (size_t number : order)
    addToAverage(number);
}

/// Waits for the sum and makes it the gradient.
void ExchangedUpdate::collect(size_t number) {
  Parameter &parameter = parameters[number];
  exchange.take(number);
  parameter.isPending = false;
  float *first = session.parameters.changeGradients() + parameter.range.start;
  for (int64_t i = 0; i < parameter.range.size; ++i)
    first[i] = static_cast<float>(first[i] / rule.divisor);
  session.parameters.maskGradients(parameter.index);
}

void ExchangedUpdate::addToAverage(size_t number) {
  const FlatRange &range = parameters[number].range;
  if (rule.decay && rule.restartsAverage)
    session.parameters.restartAverage(range.start, range.size);
  else if (rule.decay)
    session.parameters.addToAverage(*rule.decay, range.start, range.size);
}

/// Names the first gradient of the model that is not finite, whichever was needed first.
void ExchangedUpdate::refuse() {
  for (size_t number : order)
    if (parameters[number].isPending)
      collect(number);
  refuseGradients(session, rule.where);
}
