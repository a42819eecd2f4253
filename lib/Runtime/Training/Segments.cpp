//===- Segments.cpp - Truncated backpropagation through time --------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "Training/Segments.h"
#include "bppsa/Runtime/Error.h"
#include "bppsa/Runtime/Variants/Dispatch.h"

#include <algorithm>
#include <cstring>

using namespace bppsa::runtime;

void bppsa::runtime::requireSegments(const Model &model, const char *flag) {
  auto isCarried = [](const ArrayInfo &info) { return !info.carried.empty(); };
  if (std::none_of(model.inputs.begin(), model.inputs.end(), isCarried))
    fail(flag, ": the model carries no state from step to step; compile a step graph with "
               "--carry=IN:OUT");
  for (const LossInfo &loss : model.losses)
    if (!loss.target || !loss.target->timeAxis)
      fail(flag, ": the loss output ", quote(loss.output),
           " is not a sequence; compile the model with --loss-on and a sequence");
}

Array Segments::cut(const Array &array, std::optional<int64_t> axis, int64_t size) {
  Array part{array.dtype, array.shape, Buffer()};
  if (axis)
    part.shape[*axis] = size;
  part.data = Buffer(part.elements() * elementSize(part.dtype));
  return part;
}

static void copySteps(const Array &array, Array &part, int64_t axis, int64_t first) {
  int64_t outer = 1, inner = elementSize(array.dtype);
  for (size_t i = 0; i < array.shape.size(); ++i)
    if (static_cast<int64_t>(i) != axis)
      (static_cast<int64_t>(i) < axis ? outer : inner) *= array.shape[i];
  int64_t from = array.shape[axis] * inner, to = part.shape[axis] * inner;
  for (int64_t i = 0; i < outer; ++i)
    memcpy(part.data.data() + i * to, array.data.data() + i * from + first * inner, to);
}

Segments::Segment &Segments::find(const Batch &batch, int64_t number) {
  const Model &model = session.program.model;
  int64_t size = stepsOf(number);
  auto [it, isNew] = segments.try_emplace({batch.samples, size});
  Segment &segment = it->second;
  if (!isNew)
    return segment;
  Batch &part = segment.batch;
  part.symbols = batch.symbols;
  part.symbols[*timeSymbol(model)] = size;
  part.samples = batch.samples;
  for (size_t i = 0; i < model.inputs.size(); ++i)
    part.inputs.push_back(cut(batch.inputs[i], model.inputs[i].timeAxis, size));
  part.losses.resize(model.losses.size());
  for (size_t i = 0; i < model.losses.size(); ++i) {
    std::optional<int64_t> axis = model.losses[i].target->timeAxis;
    part.losses[i].target = cut(batch.losses[i].target, axis, size);
    if (model.losses[i].weight)
      part.losses[i].weight = cut(batch.losses[i].weight, axis, size);
  }
  for (size_t i = 0; i < part.inputs.size() + 2 * part.losses.size(); ++i)
    part.mirrors.emplace_back(part.array(i).data.data(), part.array(i).data.size());
  for (size_t i = 0; i < model.inputs.size(); ++i)
    if (!model.inputs[i].carried.empty())
      segment.finals[i] = cut(batch.inputs[i], std::nullopt, 0);
  return segment;
}

void Segments::restart(const Batch &batch) {
  const Model &model = session.program.model;
  for (size_t i = 0; i < model.inputs.size(); ++i) {
    if (model.inputs[i].carried.empty())
      continue;
    states[i] = cut(batch.inputs[i], std::nullopt, 0);
    memcpy(states[i].data.data(), batch.inputs[i].data.data(), states[i].data.size());
  }
}

Batch &Segments::fill(const Batch &batch, int64_t number) {
  const Model &model = session.program.model;
  Segment &segment = find(batch, number);
  int64_t first = number * length;
  for (size_t i = 0; i < model.inputs.size(); ++i) {
    Array &part = segment.batch.inputs[i];
    if (auto state = states.find(i); state != states.end())
      memcpy(part.data.data(), state->second.data.data(), part.data.size());
    else if (model.inputs[i].timeAxis)
      copySteps(batch.inputs[i], part, *model.inputs[i].timeAxis, first);
    else
      memcpy(part.data.data(), batch.inputs[i].data.data(), part.data.size());
  }
  for (size_t i = 0; i < model.losses.size(); ++i) {
    int64_t axis = *model.losses[i].target->timeAxis;
    copySteps(batch.losses[i].target, segment.batch.losses[i].target, axis, first);
    if (model.losses[i].weight)
      copySteps(batch.losses[i].weight, segment.batch.losses[i].weight, axis, first);
  }
  data.weigh(segment.batch);
  return segment.batch;
}

double Segments::weightOf(const Batch &batch, int64_t number, size_t loss) {
  return data.isWeighted(loss) ? find(batch, number).batch.losses[loss].lossWeight
                               : static_cast<double>(stepsOf(number) * batch.samples);
}

void Segments::run(const std::string &function, const Batch &batch, int64_t number) {
  const Model &model = session.program.model;
  Segment &segment = find(batch, number);
  if (segment.function != function) {
    ViewTable views;
    for (auto &[index, final] : segment.finals)
      views["output:" + model.inputs[index].carried] = {final.data.data(), final.shape,
                                                        elementSize(final.dtype), Access::Write};
    segment.call = session.prepare(function, &segment.batch, views);
    segment.function = function;
  }
  segment.call();
  for (auto &[index, final] : segment.finals)
    memcpy(states[index].data.data(), final.data.data(), final.data.size());
}
