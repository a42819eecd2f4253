//===- SyntheticData.cpp - Synthetic samples for timing -------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Runtime/Error.h"
#include "bppsa/Runtime/Files/Dataset.h"
#include "bppsa/Runtime/Training/Random.h"

#include <algorithm>

using namespace bppsa::runtime;

void Dataset::addSynthetic(const ArrayInfo &info, size_t slot, const Symbols &symbols,
                           Random &random) {
  Array array{info.dtype, model->extents(info.shape, symbols), Buffer()};
  int64_t size = array.elements();
  array.data = Buffer(size * elementSize(info.dtype));
  constexpr int64_t period = 1 << 16;
  for (int64_t i = 0; i < size && info.dtype == DType::F32; ++i)
    array.as<float>()[i] = i < period ? random.symmetric() : array.as<float>()[i - period];
  auto fill = [&](int64_t least, int64_t count) {
    for (int64_t i = 0; i < size; ++i) {
      int64_t value = least + static_cast<int64_t>(random.below(count));
      info.dtype == DType::I64 ? void(array.as<int64_t>()[i] = value)
                               : void(array.as<int32_t>()[i] = static_cast<int32_t>(value));
    }
  };
  // Draw sample lengths. Other integers stay 0, a valid index in any table.
  std::optional<int64_t> steps;
  for (const Extent &bound : info.lengthBounds)
    if (std::optional<int64_t> most = evaluate(bound, symbols))
      steps = steps ? std::min(*steps, *most) : *most;
  if (info.classes)
    fill(0, *info.classes);
  else if (steps)
    fill(1, *steps);
  addColumn(info, slot, array.dtype, array.shape);
  Column &column = columns.back();
  Block &block = blocks[0];
  block.data.resize(columns.size());
  int64_t held = column.isSliced() ? array.shape[*info.batchAxis] : 1;
  Buffer data(array.data.size());
  toSamples(column, held, elementSize(info.dtype), array.data.data(), data.data());
  (column.isSliced() ? block.data.back() : column.data) = std::move(data);
}

Symbols bppsa::runtime::syntheticSymbols(const Model &model, int64_t samples, int64_t steps,
                                         const Symbols &others) {
  Symbols symbols(model.symbols.size());
  for (size_t i = 0; i < symbols.size(); ++i)
    symbols[i] = i < others.size() && others[i] ? *others[i] : model.minSizes[i];
  for (const ArrayInfo &input : model.inputs) {
    auto assign = [&](std::optional<int64_t> axis, int64_t value, const char *what) {
      if (!axis)
        return;
      const Extent &extent = input.shape[*axis];
      if (extent.kind == Extent::Kind::Symbol)
        symbols[extent.symbol] = value;
      else if (extent.number != value)
        fail(what, ": found ", value, ", but the model fixes it at ", extent.number, " (input ",
             quote(input.name), ", axis ", *axis, ")");
    };
    assign(input.batchAxis, samples, "--batch");
    assign(input.timeAxis, steps, "--seq-len");
  }
  return symbols;
}

Dataset Dataset::synthetic(const Model &model, int64_t samples, int64_t steps,
                           const Symbols &others) {
  Dataset set(model);
  Symbols symbols = syntheticSymbols(model, samples, steps, others);
  Random random(1);
  for (size_t i = 0; i < model.inputs.size(); ++i)
    set.addSynthetic(model.inputs[i], i, symbols, random);
  for (size_t i = 0; i < model.losses.size(); ++i)
    if (model.losses[i].target)
      set.addSynthetic(*model.losses[i].target, set.slotOf(i), symbols, random);
  set.countSamples();
  set.blocks[0].count = set.count;
  return set;
}
