//===- Commands.cpp - The commands eval, infer, grad and info -------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "Commands.h"
#include "ClassMetrics.h"
#include "Description.h"
#include "NaNSearch.h"
#include "SegmentSteps.h"
#include "Variants/MemoryUse.h"
#include "bppsa/Runtime/Error.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <nlohmann/json.hpp>
#include <numeric>

using namespace bppsa::runtime;
using nlohmann::ordered_json;

static constexpr int64_t kDefaultBatch = 256;

void bppsa::runtime::printLine(const std::string &line) {
  if (fprintf(stdout, "%s\n", line.c_str()) < 0 || fflush(stdout) != 0)
    fail("stdout: writing failed (", strerror(errno), ")");
}

static std::vector<std::unique_ptr<ClassMetrics>> makeMetrics(Session &session,
                                                              const Dataset &data) {
  const Model &model = session.program.model;
  std::vector<std::unique_ptr<ClassMetrics>> metrics;
  for (size_t i = 0; i < model.losses.size(); ++i)
    metrics.push_back(ClassMetrics::accepts(model.losses[i])
                          ? std::make_unique<ClassMetrics>(session, data, i)
                          : nullptr);
  if (std::all_of(metrics.begin(), metrics.end(), [](const auto &one) { return !one; }))
    fail("--metrics: the loss ", quote(model.lossText()),
         " has no classes; expected programs with cross-entropy, nll or bce-with-logits");
  return metrics;
}

void bppsa::runtime::evalCommand(const Program &program, const Options &options, Ranks &ranks) {
  const Model &model = program.model;
  requireSamples(model);
  Dataset data(options.data, model, TargetUse::Needed);
  int64_t size = options.batch.value_or(data.fixedBatch().value_or(kDefaultBatch));
  data.requireBatches(size);
  Session session(program, false);
  std::vector<std::unique_ptr<ClassMetrics>> metrics;
  if (!options.metrics.empty())
    metrics = makeMetrics(session, data);
  Evaluation result = *evaluate(
      session, data, data.all(), size, ranks, [] { return false; },
      [&](Batch &batch) {
        for (const auto &one : metrics)
          if (one)
            one->add(batch);
      });
  ordered_json object = {{"loss", result.loss}, {"samples", result.samples}};
  if (result.accuracy)
    object["accuracy"] = *result.accuracy;
  bool hasSeveral = model.losses.size() > 1;
  for (size_t i = 0; i < model.losses.size(); ++i) {
    ordered_json part = ordered_json::object();
    const LossValue &value = result.losses[i];
    if (hasSeveral) {
      part["loss_on"] = model.losses[i].output;
      part["loss"] = value.loss ? ordered_json(*value.loss) : ordered_json(nullptr);
    }
    if (hasSeveral && value.accuracy)
      part["accuracy"] = *value.accuracy;
    for (const std::string &name : options.metrics)
      if (metrics[i])
        part[name] = metrics[i]->toJson(name);
    if (hasSeveral)
      object["losses"].push_back(std::move(part));
    else
      object.update(part);
  }
  printLine(object.dump());
}

namespace {
struct OutputArray {
  const ArrayInfo *info;
  Array whole, part;

  explicit OutputArray(const ArrayInfo &info) : info(&info) {}

  void resize(std::vector<int64_t> shape) {
    part = {info->dtype, std::move(shape), Buffer()};
    part.data = Buffer(part.elements() * elementSize(info->dtype));
  }

  void store(int64_t first) {
    if (!info->batchAxis) {
      whole = std::move(part);
      return;
    }
    int64_t axis = *info->batchAxis;
    int64_t inner = elementSize(info->dtype), outer = 1;
    for (size_t i = 0; i < part.shape.size(); ++i)
      if (static_cast<int64_t>(i) != axis)
        (static_cast<int64_t>(i) < axis ? outer : inner) *= part.shape[i];
    int64_t rows = part.shape[axis] * inner, stride = whole.shape[axis] * inner;
    for (int64_t i = 0; i < outer; ++i)
      memcpy(whole.data.data() + i * stride + first * inner, part.data.data() + i * rows, rows);
  }
};
} // namespace

static std::vector<OutputArray> makeOutputs(const Model &model, const Dataset &data,
                                            const Symbols &symbols) {
  std::vector<OutputArray> outputs;
  for (const ArrayInfo &info : model.outputs) {
    OutputArray output(info);
    std::vector<int64_t> shape = model.extents(info.shape, symbols);
    if (info.batchAxis)
      shape[*info.batchAxis] = data.samples();
    output.whole = {info.dtype, std::move(shape), Buffer()};
    output.whole.data = Buffer(output.whole.elements() * elementSize(info.dtype));
    outputs.push_back(std::move(output));
  }
  return outputs;
}

/// Outputs that cannot be concatenated require one batch.
static int64_t inferBatch(const Model &model, const Dataset &data, const Options &options) {
  auto whole = std::find_if(model.outputs.begin(), model.outputs.end(), [&](const ArrayInfo &info) {
    return !info.batchAxis || model.mixesSamples();
  });
  if (whole == model.outputs.end())
    return std::min(options.batch.value_or(data.fixedBatch().value_or(kDefaultBatch)),
                    data.samples());
  if (options.batch && *options.batch < data.samples())
    fail("--batch: found ", *options.batch, ", but output ", quote(whole->name),
         " is not a list with one result per sample; remove --batch");
  return data.samples();
}

void bppsa::runtime::inferCommand(const Program &program, const Options &options) {
  const Model &model = program.model;
  Dataset data(options.data, model, TargetUse::Ignored);
  requireWritable(options.out, "--out");
  for (const std::string &path : data.paths())
    requireDistinct(options.out, path, "--out");
  int64_t size = inferBatch(model, data, options);
  data.requireBatches(size);
  Session session(program, false);
  const std::string function = inferFunction(model, options.variant.mapping, size);
  Batch batch = data.newBatch(size);
  std::vector<int64_t> order(data.samples());
  std::iota(order.begin(), order.end(), 0);
  std::vector<OutputArray> outputs;
  Call call;
  for (int64_t first = 0; first < data.samples(); first += size) {
    int64_t count = std::min(size, data.samples() - first), before = batch.samples;
    data.gather(order.data() + first, count, batch);
    if (outputs.empty())
      outputs = makeOutputs(model, data, batch.symbols);
    if (count != before) {
      ViewTable views;
      for (OutputArray &output : outputs) {
        output.resize(model.extents(output.info->shape, batch.symbols));
        views["output:" + output.info->name] = {output.part.data.data(), output.part.shape,
                                                elementSize(output.info->dtype), Access::Write};
      }
      call = session.prepare(function, &batch, views);
    }
    call();
    for (OutputArray &output : outputs)
      output.store(first);
  }
  NpzWriter writer(options.out);
  for (const OutputArray &output : outputs)
    writer.add(output.info->name, output.whole.dtype, output.whole.shape, output.whole.data.data());
  writer.commit();
}

static void requireFiniteResults(Session &session, const std::vector<Array> &inputGradients,
                                 const std::string &title) {
  if (!std::isfinite(session.loss))
    fail(title, ": the loss is ", session.loss);
  requireFiniteGradients(session);
  const std::vector<ArrayInfo> &inputs = session.program.model.inputs;
  for (size_t i = 0; i < inputs.size(); ++i)
    if (inputs[i].gradient)
      requireFiniteGradient(inputs[i].name, inputGradients[i].as<float>(), inputGradients[i].shape);
}

void bppsa::runtime::gradCommand(const Program &program, const Options &options) {
  const Model &model = program.model;
  if (options.checkNaN)
    requireNaNSearch(model);
  Dataset data(options.data, model, TargetUse::Needed);
  requireWritable(options.out, "--out");
  for (const std::string &path : data.paths())
    requireDistinct(options.out, path, "--out");
  Batch batch = data.whole();
  batch.requireWeight(data.title());
  Session session(program, false);
  const VariantInfo &variant = *chooseVariant(session, options.variant, "grad", batch, 1).variant;

  std::vector<Array> gradients(model.inputs.size());
  ViewTable views;
  for (size_t i = 0; i < model.inputs.size(); ++i) {
    if (!model.inputs[i].gradient)
      continue;
    gradients[i] = {DType::F32, batch.inputs[i].shape, Buffer(batch.inputs[i].data.size())};
    views["input_grad:" + model.inputs[i].name] = {gradients[i].data.data(), gradients[i].shape,
                                                   sizeof(float), Access::Write};
  }
  Call gradient = session.prepare("grad." + variant.name, &batch, views);
  SegmentRecord segments;
  gradient();
  session.parameters.maskGradients();
  try {
    requireFiniteResults(session, gradients, quote(options.data));
  } catch (const Error &error) {
    if (!options.checkNaN)
      throw;
    throw Error(text(error.what(), "; ", describeFirstNaN(session, "grad", batch)));
  }

  NpzWriter writer(options.out);
  writer.add("loss", DType::F32, {}, &session.loss);
  for (size_t i = 0; i < model.parameters.size(); ++i)
    if (const ParameterInfo &info = model.parameters[i]; info.trained)
      writer.add(info.name, DType::F32, info.shape, session.parameters.gradient(i));
  for (size_t i = 0; i < model.inputs.size(); ++i) {
    if (!model.inputs[i].gradient)
      continue;
    writer.add(model.inputs[i].name, DType::F32, gradients[i].shape, gradients[i].data.data());
  }
  writer.commit();
  if (!segments.toJson().empty())
    printLine(ordered_json{{"segments", segments.toJson()}}.dump());
}

void bppsa::runtime::infoCommand(const Program &program, const Options &options) {
  ordered_json object = describeProgram(program);
  if (options.seqLen)
    object["memory"] = describeMemory(program, *options.seqLen, options.batch.value_or(16));
  printLine(object.dump(options.compact ? -1 : 2));
}
