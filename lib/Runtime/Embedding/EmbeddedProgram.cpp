//===- EmbeddedProgram.cpp - A program in another process -----------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Runtime/Embedding/EmbeddedProgram.h"
#include "Description.h"
#include "bppsa/Runtime/Device/Device.h"
#include "bppsa/Runtime/Error.h"
#include "bppsa/Runtime/Training/Random.h"

#include <algorithm>
#include <cmath>
#include <cstring>

using namespace bppsa::runtime;

/// The limit per function; each combination of sizes has a call.
static constexpr size_t kMaxCalls = 32;

EmbeddedProgram::EmbeddedProgram(Program loaded)
    : program(std::move(loaded)), json(describeProgram(program).dump()),
      session(std::make_unique<Session>(program, true)), hyper(program.model.hyper) {
  for (const ParameterInfo &info : model().parameters)
    if (info.trained)
      gradients.push_back(info.name);
  for (const ArrayInfo &info : model().inputs)
    if (info.gradient)
      gradients.push_back(info.name);
  lastLosses.resize(model().losses.size());
}

void EmbeddedProgram::setThreads(int count) {
  if (count < 0)
    throw UsageError(text("the number of threads must be at least 0, found ", count));
  threadLimit = count;
}

void EmbeddedProgram::setVariant(VariantRequest wanted) {
  matchingVariants(model(), wanted, 1 << 30);
  inferFunction(model(), wanted.mapping, 1);
  request = std::move(wanted);
  calls.clear();
}

void EmbeddedProgram::tune(const ArrayArguments &arguments, int64_t count) {
  BatchArguments batch = matchArguments(model(), arguments, LossArrays::Needed);
  auto &kept = calls["step"];
  kept.erase(std::remove_if(kept.begin(), kept.end(),
                            [&](const auto &call) { return call->isFor(batch); }),
             kept.end());
  kept.push_front(
      std::make_unique<EmbeddedCall>(*session, batch, LossArrays::Needed, [&](Batch &batch) {
        return chooseFunction("step", batch, count);
      }));
}

static void requireHyper(const std::string &what, const std::string &key, double value) {
  bool isShare = key == "beta1" || key == "beta2";
  if (!std::isfinite(value) || value < 0 || (isShare && value >= 1))
    throw UsageError(text(what, " must be finite and at least 0", isShare ? ", and below 1" : "",
                          ", found ", value));
}

void EmbeddedProgram::setHyper(const std::string &name, double value) {
  requireHyper(text("hyperparameter ", quote(name)), name, value);
  if (name == "clip_norm") {
    clipNorm = value;
    return;
  }
  auto found = hyper.find(name);
  if (found == hyper.end()) {
    std::vector<std::string> known = {"clip_norm"};
    for (const auto &entry : hyper)
      known.push_back(entry.first);
    throw UsageError(
        text("unknown hyperparameter ", quote(name), "; this program has ", list(known)));
  }
  found->second = value;
}

std::string EmbeddedProgram::chooseFunction(const std::string &function, Batch &batch,
                                            int64_t count) {
  if (function == "eval")
    return function;
  if (function == "infer")
    return inferFunction(model(), request.mapping, batch.samples);
  // The backward pass uses the variant of the forward pass.
  if (function.rfind("backward", 0) == 0)
    return function;
  return function + "." + chooseVariant(*session, request, function, batch, count).variant->name;
}

EmbeddedCall &EmbeddedProgram::find(const std::string &function, const BatchArguments &batch,
                                    LossArrays use) {
  auto &kept = calls[function];
  auto found =
      std::find_if(kept.begin(), kept.end(), [&](const auto &call) { return call->isFor(batch); });
  if (found == kept.end()) {
    // A single call does not justify timing variants.
    kept.push_front(std::make_unique<EmbeddedCall>(
        *session, batch, use, [&](Batch &batch) { return chooseFunction(function, batch, 1); }));
    if (kept.size() > kMaxCalls)
      kept.pop_back();
  } else if (found != kept.begin()) {
    std::rotate(kept.begin(), found, found + 1);
  }
  return *kept.front();
}

EmbeddedCall &EmbeddedProgram::prepare(const std::string &function, const ArrayArguments &arguments,
                                       LossArrays use) {
  BatchArguments batch = matchArguments(model(), arguments, use);
  EmbeddedCall &call = find(function, batch, use);
  call.fill(batch);
  return call;
}

EmbeddedProgram::CallArguments
EmbeddedProgram::takeParameters(const ArrayArguments &arguments) const {
  CallArguments taken;
  for (const ArrayArgument &argument : arguments) {
    const std::vector<ParameterInfo> &infos = model().parameters;
    auto info = std::find_if(infos.begin(), infos.end(),
                             [&](const ParameterInfo &info) { return info.name == argument.name; });
    if (info == infos.end()) {
      taken.arrays.push_back(argument);
      continue;
    }
    requireShape(argument, DType::F32, info->shape);
    if (isDeviceProgram() || !argument.isUsable(DType::F32))
      fail("array ", quote(argument.name), ": replaces a parameter and must be ",
           isDeviceProgram() ? "left out in programs for GPUs" : "compact, in C order",
           "; write to the program's own instead");
    taken.parameters.push_back(&argument);
  }
  return taken;
}

void EmbeddedProgram::lendParameters(EmbeddedCall &call, const CallArguments &arguments) {
  for (const ArrayArgument *argument : arguments.parameters)
    call.lend("param:" + argument->name, argument->data);
}

void EmbeddedProgram::requireShape(const ArrayArgument &argument, DType dtype,
                                   const std::vector<int64_t> &shape) const {
  if (argument.dtype != dtype || argument.shape != shape)
    fail("array ", quote(argument.name), ": found ", numpyName(argument.dtype), " ",
         list(argument.shape), ", expected ", numpyName(dtype), " ", list(shape));
}

std::vector<Array> EmbeddedProgram::infer(const ArrayArguments &arguments) {
  CallArguments own = takeParameters(arguments);
  EmbeddedCall &call = prepare("infer", own.arrays, LossArrays::Ignored);
  lendParameters(call, own);
  call.run();
  std::vector<Array> outputs;
  for (const ArrayInfo &info : model().outputs)
    outputs.push_back(call.takeResult("output:" + info.name));
  return outputs;
}

void EmbeddedProgram::requireOutputs(const EmbeddedCall &call,
                                     const ArrayArguments &outputs) const {
  std::vector<std::string> names;
  for (const ArrayInfo &info : model().outputs)
    names.push_back(info.name);
  for (const ArrayArgument &output : outputs) {
    if (std::find(names.begin(), names.end(), output.name) == names.end())
      throw UsageError(
          text("unknown output ", quote(output.name), "; the model has ", list(names)));
    const Array &result = call.result("output:" + output.name);
    requireShape(output, result.dtype, result.shape);
  }
}

void EmbeddedProgram::runOutputs(EmbeddedCall &call, const ArrayArguments &outputs) {
  std::vector<const ArrayArgument *> copied;
  for (const ArrayArgument &output : outputs)
    if (!output.isUsable(output.dtype) || !call.redirect("output:" + output.name, output.data))
      copied.push_back(&output);
  call.run();
  for (const ArrayArgument *output : copied)
    output->write(call.result("output:" + output->name).data.data());
}

void EmbeddedProgram::infer(const ArrayArguments &arguments, const ArrayArguments &outputs) {
  CallArguments own = takeParameters(arguments);
  EmbeddedCall &call = prepare("infer", own.arrays, LossArrays::Ignored);
  requireOutputs(call, outputs);
  lendParameters(call, own);
  runOutputs(call, outputs);
}

double EmbeddedProgram::runLoss(EmbeddedCall &call) {
  const Batch &batch = call.arrays();
  if (!batch.losses.empty() &&
      std::all_of(batch.losses.begin(), batch.losses.end(),
                  [](const Batch::Loss &loss) { return loss.lossWeight == 0; }))
    fail("every position has the weight 0, so there is no loss; give positions a weight");
  session->seed = static_cast<int64_t>(stepSeed(seed, steps));
  call.run();
  if (!std::isfinite(session->loss))
    throw DivergedError(text("the loss is ", session->loss));
  for (size_t i = 0; i < lastLosses.size(); ++i)
    lastLosses[i] = session->lossOf(i);
  return session->loss;
}

double EmbeddedProgram::eval(const ArrayArguments &arguments, std::optional<double> &accuracy) {
  EmbeddedCall &call = prepare("eval", arguments, LossArrays::Needed);
  double loss = runLoss(call);
  accuracy.reset();
  for (size_t i = 0; i < model().losses.size(); ++i)
    if (&model().losses[i] == model().classLoss() && call.arrays().losses[i].positions > 0)
      accuracy = session->correct[i] / call.arrays().losses[i].positions;
  return loss;
}

std::optional<size_t> EmbeddedProgram::findParameter(const std::string &name) const {
  const std::vector<ParameterInfo> &infos = model().parameters;
  auto found = std::find_if(infos.begin(), infos.end(), [&](const ParameterInfo &info) {
    return info.trained && info.name == name;
  });
  if (found == infos.end())
    return std::nullopt;
  return found - infos.begin();
}

double EmbeddedProgram::runGradient(EmbeddedCall &call) {
  double loss = runLoss(call);
  session->parameters.maskGradients();
  try {
    requireFiniteGradients(*session);
    for (const ArrayInfo &info : model().inputs) {
      if (!info.gradient)
        continue;
      const Array &gradient = call.result("input_grad:" + info.name);
      requireFiniteGradient(info.name, gradient.as<float>(), gradient.shape);
    }
  } catch (const Error &error) {
    throw DivergedError(error.what());
  }
  return loss;
}

double EmbeddedProgram::grad(const ArrayArguments &arguments, std::vector<Array> &results) {
  EmbeddedCall &call = prepare("grad", arguments, LossArrays::Needed);
  double loss = runGradient(call);
  for (const std::string &name : gradients) {
    std::optional<size_t> index = findParameter(name);
    if (!index) {
      results.push_back(call.takeResult("input_grad:" + name));
      continue;
    }
    const ParameterInfo &info = model().parameters[*index];
    results.push_back(
        {DType::F32, info.shape, Buffer::uninitialized(info.elements * sizeof(float))});
    memcpy(results.back().data.data(), session->parameters.gradient(*index),
           results.back().data.size());
  }
  return loss;
}

void EmbeddedProgram::requireGradients(const EmbeddedCall &call,
                                       const ArrayArguments &results) const {
  for (const ArrayArgument &result : results) {
    if (std::find(gradients.begin(), gradients.end(), result.name) == gradients.end())
      throw UsageError(text("unknown gradient ", quote(result.name), "; there are gradients of ",
                            list(gradients)));
    std::optional<size_t> index = findParameter(result.name);
    const std::vector<ArrayInfo> &inputs = model().inputs;
    auto input = std::find_if(inputs.begin(), inputs.end(),
                              [&](const ArrayInfo &info) { return info.name == result.name; });
    requireShape(result, DType::F32,
                 index ? model().parameters[*index].shape
                       : call.arrays().inputs[input - inputs.begin()].shape);
  }
}

void EmbeddedProgram::writeGradients(const EmbeddedCall &call,
                                     const ArrayArguments &results) const {
  for (const ArrayArgument &result : results) {
    std::optional<size_t> index = findParameter(result.name);
    result.write(index ? reinterpret_cast<const std::byte *>(session->parameters.gradient(*index))
                       : call.result("input_grad:" + result.name).data.data());
  }
}

double EmbeddedProgram::grad(const ArrayArguments &arguments, const ArrayArguments &results) {
  EmbeddedCall &call = prepare("grad", arguments, LossArrays::Needed);
  requireGradients(call, results);
  double loss = runGradient(call);
  writeGradients(call, results);
  return loss;
}

void EmbeddedProgram::applyUpdate(std::optional<double> rate, bool takesStatistics) {
  if (rate)
    requireHyper("lr", "lr", *rate);
  double squares = session->gradientSquares();
  if (!std::isfinite(squares)) {
    try {
      requireFiniteGradients(*session);
    } catch (const Error &error) {
      throw DivergedError(text(error.what(), "; use a smaller lr or clip_norm"));
    }
  }
  auto base = hyper.find("lr");
  session->setHyper(hyper, rate.value_or(base == hyper.end() ? 0 : base->second), steps + 1);
  if (clipNorm > 0)
    session->clipGradients(squares, clipNorm);
  session->update(takesStatistics);
  ++steps;
}

double EmbeddedProgram::step(const ArrayArguments &arguments, std::optional<double> rate) {
  double loss = runLoss(prepare("step", arguments, LossArrays::Needed));
  applyUpdate(rate, /*takesStatistics=*/true);
  return loss;
}

void EmbeddedProgram::update(const ArrayArguments &given, std::optional<double> rate) {
  const std::vector<ParameterInfo> &infos = model().parameters;
  std::vector<const ArrayArgument *> found(infos.size());
  for (const ArrayArgument &gradient : given) {
    std::optional<size_t> index = findParameter(gradient.name);
    if (!index)
      throw UsageError(text("there is no trained parameter ", quote(gradient.name)));
    requireShape(gradient, DType::F32, infos[*index].shape);
    found[*index] = &gradient;
  }
  for (size_t i = 0; i < infos.size(); ++i)
    if (infos[i].trained && !found[i])
      fail("there is no gradient of parameter ", quote(infos[i].name));
  float *flat = session->parameters.changeGradients();
  for (size_t i = 0; i < infos.size(); ++i)
    if (found[i])
      found[i]->read(reinterpret_cast<std::byte *>(flat + session->parameters.start(i)));
  for (size_t i = 0; i < infos.size(); ++i)
    session->parameters.maskPrunedGradients(i);
  applyUpdate(rate, /*takesStatistics=*/false);
}
