//===- Session.cpp - Compiled functions on batches ------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Runtime/Session.h"
#include "Files/BatchLoader.h"
#include "MemoryNeed.h"
#include "bppsa/Program/Keys.h"
#include "bppsa/Program/Optimizers.h"
#include "bppsa/Runtime/Error.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <nlohmann/json.hpp>
#include <zlib.h>

using namespace bppsa::runtime;
namespace keys = bppsa::program::keys;

static uint32_t checksumOf(uint32_t start, const void *data, uint64_t size) {
  return static_cast<uint32_t>(crc32_z(start, static_cast<const Bytef *>(data), size));
}

/// Removes entries that do not affect parameters and states, so that a program for another target
/// can resume training.
static std::string describeModel(const std::string &description) {
  nlohmann::json object = nlohmann::json::parse(description);
  for (const char *key :
       {keys::kSchema, keys::kTarget, keys::kVariants, keys::kFunctions, keys::kFirstUses,
        keys::kSyncBn, keys::kPipeline, keys::kStages, keys::kModules, keys::kSplitBackward,
        keys::kFlopsPerPosition, keys::kDeviceChains, keys::kHostChains, keys::kClassification,
        keys::kConstantWeights, keys::kTracedNodes})
    object.erase(key);
  return object.dump();
}

Program Program::load(const ProgramInterface &interface) {
  std::string json(interface.json, interface.jsonSize);
  Model model = parseModel(json, interface.onnxSize);
  std::string identity = describeModel(json);
  uint32_t checksum = checksumOf(checksumOf(0, identity.data(), identity.size()), interface.onnx,
                                 interface.onnxSize);
  return {std::move(json),
          std::move(model),
          FunctionTable(interface.functions, interface.instructionSets, interface.kernels,
                        interface.load),
          interface.onnx,
          interface.onnxSize,
          checksum};
}

Session::Session(const Program &program, bool withOptimizer)
    : program(program), parameters(program.model, program.onnx, withOptimizer),
      losses(program.model.losses.size()), correct(program.model.losses.size()) {
  // Prepare updates first: their device memory determines which variants fit.
  if (!withOptimizer || program.functions.isLazy())
    return;
  callUpdate = prepare("update", nullptr);
  callSquares = prepare("sumsq", nullptr);
}

ViewTable Session::collectViews(Batch *batch, const ViewTable &extra) {
  ViewTable views = extra;
  parameters.addTo(views);
  if (batch)
    batch->addTo(program.model, views);
  views["loss"] = {&loss, {}, sizeof loss, Access::Write};
  const std::vector<LossInfo> &infos = program.model.losses;
  for (size_t i = 0; i < infos.size(); ++i) {
    std::string suffix = program.model.suffixOf(infos[i]);
    if (!suffix.empty())
      views["loss" + suffix] = {&losses[i], {}, sizeof losses[i], Access::Write};
    views["correct" + suffix] = {&correct[i], {}, sizeof correct[i], Access::Write};
  }
  views["seed"] = {&seed, {}, sizeof seed, Access::Read};
  views["sumsq"] = {&squares, {}, sizeof squares, Access::Write};
  views["hyper"] = {hyper, {program::kNumHyperSlots}, sizeof hyper[0], Access::Read};
  return views;
}

void Session::addUnusedStates(const std::string &function, const Batch &batch, ViewTable &views) {
  const Model &model = program.model;
  auto arguments = model.functions.find(function);
  if (arguments == model.functions.end())
    return;
  for (const std::string &argument : arguments->second) {
    const ArrayInfo *info = model.arrayOf(argument);
    if (argument.rfind("output:", 0) != 0 || views.count(argument) || !info ||
        info->carried.empty())
      continue;
    std::vector<int64_t> shape = model.extents(info->shape, batch.symbols);
    uint64_t size = elementSize(info->dtype), bytes = elementCount(shape) * size;
    // Prepared calls keep pointers, so each size has its own buffer.
    Buffer &buffer = unusedStates[text(function, " ", argument, " ", bytes)];
    if (buffer.size() != bytes)
      buffer = Buffer(bytes);
    views[argument] = {buffer.data(), shape, size, Access::Write};
  }
}

bool Session::fits(const std::string &function, Batch &batch, const ViewTable &extra) {
  ViewTable views = collectViews(&batch, extra);
  addUnusedStates(function, batch, views);
  return fitsMemory(program, function, batch, views);
}

Call Session::prepare(const std::string &function, Batch *batch, const ViewTable &extra) {
  ViewTable views = collectViews(batch, extra);
  auto arguments = program.model.functions.find(function);
  if (arguments == program.model.functions.end())
    fail("this program has no function ", quote(function), "; compile the model again");
  if (batch)
    addUnusedStates(function, *batch, views);
  if (batch)
    requireMemory(program, function, *batch, views);
  return program.functions.prepare(function, arguments->second, views,
                                   batch ? batch->symbols : Symbols(program.model.symbols.size()));
}

double Session::gradientSquares() {
  parameters.maskGradients();
  if (!callSquares)
    callSquares = prepare("sumsq", nullptr);
  (*callSquares)();
  return squares;
}

void Session::setHyper(const std::map<std::string, double> &values, double rate, int64_t step) {
  auto value = [&](const char *key) {
    auto found = values.find(key);
    return found == values.end() ? 0.0f : static_cast<float>(found->second);
  };
  for (const program::HyperParameter &parameter : program::kOptimizers[0].hyper)
    hyper[parameter.slot] = value(parameter.key);
  hyper[program::kRateSlot] = static_cast<float>(rate);
  hyper[program::kStepSlot] = static_cast<float>(step);
  hyper[program::kScaleSlot] = 1;
}

void Session::clipGradients(double squares, double limit) {
  // Bit-identical to torch.nn.utils.clip_grad_norm_.
  hyper[program::kScaleSlot] =
      static_cast<float>(std::min(1.0, limit / (std::sqrt(squares) + 1e-6)));
}

std::unique_ptr<Session::UpdateRange> Session::makeRange(size_t index, size_t group, int64_t start,
                                                         int64_t size) {
  auto range = std::make_unique<UpdateRange>();
  range->group = group;
  range->index = index;
  ViewTable views;
  parameters.addRange(views, start, size);
  views["hyper"] = {range->hyper, {program::kNumHyperSlots}, sizeof hyper[0], Access::Read};
  views["sumsq"] = {&range->squares, {}, sizeof squares, Access::Write};
  Symbols symbols(program.model.symbols.size());
  auto prepareCall = [&](const char *name) {
    return program.functions.prepare(name, program.model.functions.at(name), views, symbols);
  };
  range->call = prepareCall("update");
  range->callSquares = prepareCall("sumsq");
  return range;
}

void Session::cutUpdates(const std::vector<size_t> &groups, bool isEach) {
  const std::vector<ParameterInfo> &infos = program.model.parameters;
  std::vector<size_t> trained;
  for (size_t i = 0; i < infos.size(); ++i)
    if (infos[i].trained)
      trained.push_back(i);
  ranges.clear();
  for (size_t first = 0, end = 0; first < trained.size(); first = end) {
    for (++end; end < trained.size() && !isEach && groups[trained[end]] == groups[trained[first]];)
      ++end;
    int64_t start = parameters.start(trained[first]);
    int64_t stop =
        end < trained.size() ? parameters.start(trained[end]) : parameters.gradientCount();
    ranges.push_back(makeRange(trained[first], groups[trained[first]], start, stop - start));
  }
}

void Session::update(UpdateRange &range) {
  std::copy(std::begin(hyper), std::end(hyper), range.hyper);
  range.hyper[program::kRateSlot] = rates[range.group];
  range.call();
}

void Session::update(bool takesStatistics) {
  std::vector<float> frozen = parameters.frozenRows();
  if (ranges.empty()) {
    if (!callUpdate)
      callUpdate = prepare("update", nullptr);
    (*callUpdate)();
  }
  for (const std::unique_ptr<UpdateRange> &range : ranges)
    update(*range);
  if (takesStatistics)
    parameters.acceptStatistics();
  parameters.restoreRows(frozen);
}

void Session::updateOne(size_t number) {
  size_t index = ranges[number]->index;
  std::vector<float> frozen = parameters.frozenRows(index);
  update(*ranges[number]);
  parameters.restoreRows(frozen, index);
}

double Session::squaresOfOne(size_t number) {
  ranges[number]->callSquares();
  return ranges[number]->squares;
}

void LossSums::add(size_t number, double loss, double weight) {
  addSum(number, loss * weight, weight);
}

void LossSums::addSum(size_t number, double sum, double weight) {
  losses.resize(std::max(losses.size(), number + 1));
  weights.resize(losses.size());
  losses[number] += sum;
  weights[number] += weight;
}

std::optional<double> LossSums::mean(size_t number) const {
  if (number >= weights.size() || weights[number] == 0)
    return std::nullopt;
  return losses[number] / weights[number];
}

double LossSums::total(const Model &model) const {
  double sum = 0;
  for (size_t i = 0; i < model.losses.size(); ++i)
    sum += model.losses[i].factor * mean(i).value_or(0);
  return sum;
}

void EvaluationSums::add(const Session &session, const Batch &batch, const std::string &what) {
  if (!std::isfinite(session.loss))
    throw DivergedError(text("the loss of ", what, " is ", session.loss));
  for (size_t i = 0; i < model.losses.size(); ++i) {
    sums.add(i, session.lossOf(i), batch.losses[i].lossWeight);
    correct[i] += session.correct[i];
    positions[i] += batch.losses[i].positions;
  }
  samples += batch.samples;
}

bool EvaluationSums::combine(Ranks &ranks, bool isStopped) {
  if (ranks.isAlone())
    return isStopped;
  sums.losses.resize(model.losses.size());
  sums.weights.resize(model.losses.size());
  std::vector<double> *const lists[] = {&sums.losses, &sums.weights, &correct, &positions};
  std::vector<double> own = {isStopped ? 1.0 : 0.0, static_cast<double>(samples)};
  for (std::vector<double> *list : lists)
    own.insert(own.end(), list->begin(), list->end());
  std::vector<double> all = ranks.sum(own);
  samples = static_cast<int64_t>(all[1]);
  auto next = all.begin() + 2;
  for (std::vector<double> *list : lists)
    for (double &value : *list)
      value = *next++;
  return all.front() > 0;
}

Evaluation EvaluationSums::result() const {
  Evaluation result;
  result.loss = sums.total(model);
  result.samples = samples;
  for (size_t i = 0; i < model.losses.size(); ++i) {
    LossValue value{sums.mean(i), std::nullopt};
    if (model.losses[i].hasClasses() && positions[i] > 0)
      value.accuracy = correct[i] / positions[i];
    if (&model.losses[i] == model.classLoss())
      result.accuracy = value.accuracy;
    result.losses.push_back(value);
  }
  return result;
}

static std::vector<int64_t> dealBatches(const std::vector<int64_t> &samples, int64_t batchSize,
                                        const Ranks &ranks) {
  if (ranks.isAlone())
    return samples;
  auto count = static_cast<int64_t>(samples.size());
  std::vector<int64_t> own;
  for (int64_t at = ranks.rank() * batchSize; at < count; at += ranks.count() * batchSize)
    own.insert(own.end(), samples.begin() + at, samples.begin() + std::min(at + batchSize, count));
  return own;
}

std::optional<Evaluation> bppsa::runtime::evaluate(Session &session, const Dataset &data,
                                                   const std::vector<int64_t> &all,
                                                   int64_t batchSize, Ranks &ranks,
                                                   const std::function<bool()> &stop,
                                                   const std::function<void(Batch &)> &visit) {
  std::vector<int64_t> samples = dealBatches(all, batchSize, ranks);
  auto count = static_cast<int64_t>(samples.size());
  Batch batch = data.newBatch(batchSize);
  auto sizeAt = [&](int64_t first) { return std::min(batchSize, count - first); };
  BatchLoader loader(data, samples, 0, batchSize, sizeAt);
  Call call;
  EvaluationSums sums(session.program.model);
  bool isStopped = false;
  for (int64_t first = 0; first < count; first += batchSize) {
    isStopped = stop();
    if (isStopped)
      break;
    int64_t size = sizeAt(first), before = batch.samples;
    loader.next(batch);
    if (size != before)
      call = session.prepare("eval", &batch);
    std::string what = text("samples ", samples[first], " to ", samples[first + size - 1]);
    data.requireWeight(batch, what);
    call();
    sums.add(session, batch, text(what, " of ", data.title()));
    visit(batch);
  }
  if (sums.combine(ranks, isStopped))
    return std::nullopt;
  return sums.result();
}

void bppsa::runtime::requireFiniteGradient(const std::string &name, const float *gradient,
                                           const std::vector<int64_t> &shape) {
  for (int64_t i = 0, size = elementCount(shape); i < size; ++i)
    if (float value = gradient[i]; !std::isfinite(value))
      fail("the gradient of ", quote(name), " is ", value, " (element ", i, " of shape ",
           list(shape), ")");
}

void bppsa::runtime::requireFiniteGradients(Session &session) {
  const std::vector<ParameterInfo> &infos = session.program.model.parameters;
  for (size_t i = 0; i < infos.size(); ++i)
    if (infos[i].trained)
      requireFiniteGradient(infos[i].name, session.parameters.gradient(i), infos[i].shape);
}
