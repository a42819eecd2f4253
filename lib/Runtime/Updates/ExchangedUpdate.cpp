//===- ExchangedUpdate.cpp - Updates from the gradients of all ranks ------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "Updates/ExchangedUpdate.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <utility>

using namespace bppsa::runtime;

std::vector<size_t> ExchangedUpdate::orderOf(const std::string &step) const {
  std::vector<size_t> order(parameters.size());
  std::iota(order.begin(), order.end(), 0);
  if (!announcesGradients)
    return order;
  const Model &model = session.program.model;
  std::map<std::string, size_t> numbers;
  for (size_t number : order)
    numbers[model.parameters[parameters[number].index].name] = number;
  order.clear();
  for (const std::string &name : model.firstUses.at(step))
    order.push_back(numbers.at(name));
  return order;
}

std::vector<FlatRange> ExchangedUpdate::ranges() const {
  std::vector<FlatRange> ranges;
  for (const Parameter &parameter : parameters)
    ranges.push_back(parameter.range);
  return ranges;
}

ExchangedUpdate::ExchangedUpdate(Session &session, Ranks &ranks, const ExchangeOptions &options,
                                 const std::string &step, const std::vector<size_t> &groups,
                                 bool areWeighted)
    : DeferredUpdate(session, groups), ranks(ranks), areWeighted(areWeighted),
      announcesGradients(options.kind != ExchangeOptions::Kind::Barrier &&
                         session.program.model.firstUses.count(step) != 0),
      order(orderOf(step)),
      exchange(ranks, session.parameters.changeGradients(), ranges(), order, options) {}

void ExchangedUpdate::run(const StepShare &next, bool gives, const std::function<void()> &step) {
  share = next;
  if (!announcesGradients)
    settle();
  else if (gives)
    scale = scaleOf(share.weight);
  {
    StepPortsUse use({nullptr, nullptr, this});
    step();
  }
  scale.reset();
  rethrow();
}

void ExchangedUpdate::gradientReady(const void *gradient) noexcept {
  if (!scale)
    return;
  const float *first = session.parameters.changeGradients();
  for (size_t number = 0; number < parameters.size(); ++number)
    if (gradient == first + parameters[number].range.start)
      guard([&] { give(number); });
}

void ExchangedUpdate::shareMeans(float *means, int64_t count, bool areCotangents) noexcept {
  guard([&] {
    // A rank without samples contributes zeros.
    std::vector<double> own(count);
    if (share.samples > 0)
      std::transform(means, means + count, own.begin(), [&](double value) {
        return areCotangents ? value : value * static_cast<double>(share.samples);
      });
    std::vector<double> sums = ranks.sum(own, "statistics");
    auto factor = static_cast<double>(areCotangents ? share.samples : 1);
    std::transform(sums.begin(), sums.end(), means, [&](double sum) {
      return static_cast<float>(sum * factor / static_cast<double>(share.allSamples));
    });
  });
}

void ExchangedUpdate::give(size_t number) {
  if (!std::exchange(parameters[number].isReady, true))
    exchange.give(number, *scale);
}

void ExchangedUpdate::contributeRemaining(double weight) {
  settle();
  // This call copies device gradients to the host.
  session.parameters.changeGradients();
  scale = scaleOf(weight);
  for (size_t i = order.size(); i-- > 0;)
    give(order[i]);
  scale.reset();
  for (Parameter &parameter : parameters)
    parameter.isReady = false;
}

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
    if (parameters[number].isPending)
      complete(number);
}

void ExchangedUpdate::complete(size_t number) {
  // Clipping needs all gradients. Between steps, one update call is enough.
  if (rule.clipNorm || !announcesGradients)
    completeAll();
  else
    apply(number);
}

void ExchangedUpdate::completeAll() {
  for (size_t number : order)
    collect(number);
  double squares = session.gradientSquares();
  if (!std::isfinite(squares))
    refuse();
  if (rule.clipNorm)
    session.clipGradients(squares, *rule.clipNorm);
  // The session may hold statistics of the next step.
  session.update(/*takesStatistics=*/false);
  for (const Parameter &parameter : parameters)
    rule.average(parameter.range.start, parameter.range.size);
}

void ExchangedUpdate::collect(size_t number) {
  Parameter &parameter = parameters[number];
  exchange.take(number);
  parameter.isPending = false;
  float *first = session.parameters.changeGradients() + parameter.range.start;
  for (int64_t i = 0; i < parameter.range.size; ++i)
    first[i] = static_cast<float>(first[i] / rule.divisor);
  session.parameters.maskGradients(parameter.index);
}

void ExchangedUpdate::refuse() {
  for (size_t number : order)
    if (parameters[number].isPending)
      collect(number);
  refuseGradients(session, rule.where);
}
