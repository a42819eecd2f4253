//===- UpdateExecutor.cpp - Execute the actions of updates ----------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "Updates/UpdateExecutor.h"
#include "bppsa/Runtime/Error.h"

#include <algorithm>

using namespace bppsa;
using namespace bppsa::runtime;

void UpdateExecutor::runBatch() {
  if (!ranks.isAlone())
    ranks.setPosition(run.stepName());
  weights.clear();
  losses = {};
  begun.clear();
  used.clear();
  updateWeight = 0;
  isSummed = settings.accumulate > 1;
  if (timeShares) {
    // Time shards do not announce parameters, so complete updates. Idle ranks contribute zeros.
    settle();
    if (isIdle())
      std::fill_n(session.parameters.changeGradients(), session.parameters.gradientCount(), 0.0f);
  }
  execute(makePlan());
  if (isSegmented()) {
    weights = losses.weights;
    run.requireCounted(weights);
    addLosses(/*fromSums=*/true);
  }
  int64_t count = stageUpdate ? run.countMicrobatches() : 0;
  ++state.batch;
  note(count);
}

UpdatePlan UpdateExecutor::makePlan() {
  using schedule::OpKind;
  UpdatePlan plan;
  auto add = [&](Action::Kind kind, int64_t microbatch = 0, OpKind part = OpKind::F) {
    plan.push_back({kind, {part, 0, static_cast<int32_t>(microbatch)}});
  };
  int64_t count = run.data.stream ? settings.accumulate : run.countMicrobatches();
  isCarried = beginCarried();
  if (stageUpdate) {
    planStages(plan, count);
  } else if (isCarried) {
    // Pause before the deferred gradients.
    add(Action::Kind::Part);
    add(Action::Kind::Update);
    return plan;
  } else if (timeShard || (timeShares && isSummed)) {
    // Run all forward parts, then all backward parts.
    for (OpKind part : {OpKind::F, OpKind::BW})
      for (int64_t number = 0; number < count && (timeShard || !isIdle()); ++number)
        add(Action::Kind::Part, number, part);
  } else if (isSegmented()) {
    // The last update is added below.
    for (int64_t number = 0; number < segments->count(); ++number) {
      if (number > 0) {
        add(Action::Kind::Combine);
        add(Action::Kind::Update);
      }
      add(Action::Kind::Step, number);
    }
  } else {
    for (int64_t number = 0; number < count; ++number)
      add(Action::Kind::Step, number);
  }
  add(Action::Kind::Combine);
  add(Action::Kind::Update);
  return plan;
}

void UpdateExecutor::planStages(UpdatePlan &plan, int64_t count) {
  const std::vector<schedule::PipelineOp> &ops = orders->of(count);
  size_t ahead = stageUpdate->isProvisional() ? orders->ahead(count) : ops.size();
  for (size_t i = 0; i < ops.size(); ++i) {
    if (i == ahead)
      plan.push_back({Action::Kind::Validate});
    plan.push_back({Action::Kind::Part, ops[i]});
  }
}

bool UpdateExecutor::beginCarried() {
  if (!carried)
    return false;
  if (!steps->isCheckDue(run.sizeOfUpdate(state.batch)))
    return true;
  // Timing variants requires complete steps.
  carried->settle();
  return false;
}

void UpdateExecutor::execute(const UpdatePlan &plan) {
  numExpected = 0;
  if (stageUpdate && stageUpdate->isProvisional())
    mail.beginTrial();
  for (size_t next = 0; next < plan.size();) {
    if (stageUpdate)
      expectMessages(plan, next);
    if (plan[next].kind == Action::Kind::Validate && !isTrialKept(plan, next)) {
      next = numExpected = 0;
      continue;
    }
    perform(plan[next++]);
  }
}

void UpdateExecutor::perform(const Action &action) {
  switch (action.kind) {
  case Action::Kind::Step:
    return isSegmented() ? runSegment(action.part.microbatch) : runStep(action.part.microbatch);
  case Action::Kind::Part:
    return runPart(action.part);
  case Action::Kind::Validate:
    return;
  case Action::Kind::Combine:
    return stageUpdate ? combineStages() : combine();
  case Action::Kind::Update:
    return update();
  }
}

/// If the result is false, the actions before `end` must be repeated.
bool UpdateExecutor::isTrialKept(const UpdatePlan &plan, size_t end) {
  if (!stageUpdate->isProvisional())
    return true;
  bool isKept = stageUpdate->validate();
  for (size_t i = 0; i < end && !isKept; ++i)
    find(plan[i].part.microbatch).steps.at(plan[i].part.stage)->drop();
  mail.endTrial(isKept);
  return isKept;
}

void UpdateExecutor::expectMessages(const UpdatePlan &plan, size_t position) {
  constexpr size_t ahead = 2;
  size_t end = std::min(position + 1 + ahead, plan.size());
  for (numExpected = std::max(numExpected, position); numExpected < end; ++numExpected) {
    const Action &action = plan[numExpected];
    if (action.kind == Action::Kind::Validate && !stageUpdate->isProvisional())
      continue;
    if (action.kind != Action::Kind::Part)
      return;
    const Microbatch &microbatch = find(action.part.microbatch).data;
    if (microbatch.counts() && !mail.expect(mailPart(action.part, microbatch)))
      return;
  }
}

void UpdateExecutor::note(int64_t count) {
  if (times && times->endUpdate(count)) {
    orders->setTimes(times->gather());
    times.reset();
    orders->of(count);
    if (std::string line = orders->describe(count); !line.empty())
      run.observer->note(text("after step ", state.step, ": pipeline ", line));
  }
  if (change.empty())
    return;
  run.observer->note(text("after step ", state.step, ": ", std::exchange(change, "")));
  run.observer->showVariant(settings.variant = steps->variant());
  if (carried)
    prepareCarried();
}

void UpdateExecutor::settle() {
  if (exchange)
    exchange->settle();
  if (carried)
    carried->settle();
  if (module)
    takeReports(0);
  if (stageUpdate)
    stageUpdate->validate();
  if (stages)
    stages->settle();
}

/// Only stages compute part of the gradients.
std::vector<FlatRange> UpdateExecutor::rangesOf(int stage) const {
  if (stageUpdate)
    return stages->rangesOf(stage);
  return {{0, session.parameters.gradientCount()}};
}

void UpdateExecutor::addGradients(int stage, const float *gradients, double weight) {
  if (gradientSums.size() == 0)
    gradientSums = Buffer::uninitialized(session.parameters.gradientCount() * sizeof(double));
  auto *sums = reinterpret_cast<double *>(gradientSums.data());
  bool isFirst = begun.insert(stage).second;
  for (const FlatRange &range : rangesOf(stage))
    for (int64_t i = range.start; i < range.start + range.size; ++i)
      sums[i] = (isFirst ? 0.0 : sums[i]) + weight * gradients[i];
}

void UpdateExecutor::addResults(int stage, const Microbatch &microbatch) {
  double weight = microbatch.weights.front();
  addGradients(stage, microbatch.gradients.floats(), scaleOf(weight));
  if (stageUpdate)
    stages->acceptStatistics(stage);
  if (stageUpdate && static_cast<size_t>(stage) + 1 != model.stages.size())
    return;
  // The loss is undefined without weight.
  for (size_t i = 0; i < microbatch.weights.size(); ++i)
    losses.add(i, microbatch.weights[i] == 0 ? 0 : microbatch.lossOf(i), microbatch.weights[i]);
}

void UpdateExecutor::takeSums(double divisor) {
  float *gradients = session.parameters.changeGradients();
  if (begun.empty())
    std::fill_n(gradients, session.parameters.gradientCount(), 0.0f);
  const auto *sums = reinterpret_cast<const double *>(gradientSums.data());
  for (int stage : begun)
    for (const FlatRange &range : rangesOf(stage))
      for (int64_t i = range.start; i < range.start + range.size; ++i)
        gradients[i] = static_cast<float>(sums[i] / divisor);
}
