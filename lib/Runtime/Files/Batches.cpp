//===- Batches.cpp - Batches of samples -----------------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "CopyPieces.h"
#include "bppsa/Runtime/Error.h"
#include "bppsa/Runtime/Files/Dataset.h"

#include <algorithm>
#include <numeric>

using namespace bppsa::runtime;

void Batch::keepSpares() {
  for (DeviceMirror &mirror : mirrors)
    mirror.enablePrefetch();
}

void Batch::prefetchArray() {
  for (DeviceMirror &mirror : mirrors)
    mirror.prefetchArray();
}

void Batch::addTo(const Model &model, ViewTable &views) {
  auto add = [&](const std::string &key, size_t index) {
    Array &values = array(index);
    views[key] = {values.data.data(), values.shape, elementSize(values.dtype), Access::Read,
                  &mirrors[index]};
  };
  for (size_t i = 0; i < inputs.size(); ++i)
    add("input:" + model.inputs[i].name, i);
  for (size_t i = 0; i < losses.size(); ++i) {
    const LossInfo &loss = model.losses[i];
    if (loss.target)
      add(loss.target->name, inputs.size() + 2 * i);
    if (loss.weight)
      add(loss.weight->name, inputs.size() + 2 * i + 1);
  }
}

Array &Batch::array(size_t index) {
  if (index < inputs.size())
    return inputs[index];
  size_t place = index - inputs.size();
  Loss &loss = losses[place / 2];
  return place % 2 == 0 ? loss.target : loss.weight;
}

std::vector<int64_t> Dataset::all() const {
  std::vector<int64_t> numbers(count);
  std::iota(numbers.begin(), numbers.end(), 0);
  return numbers;
}

void Dataset::requireBatches(int64_t size, int64_t samples) const {
  if (fixed && size != *fixed)
    fail(name.empty() ? "" : quote(name) + ": ", "a batch of ", size,
         " samples was asked for, but the model fixes its batch size at ", *fixed);
  if (fixed && samples % *fixed != 0)
    fail(title(), ": ", samples, " samples are not a multiple of ", *fixed,
         ", the batch size that the model fixes; choose another --val-split");
  requireBounds(bindSlices(std::min(size, samples)));
  if (size < samples && samples % size != 0)
    requireBounds(bindSlices(samples % size));
}

Batch Dataset::newBatch(int64_t largest) const {
  Batch batch;
  batch.inputs.resize(model->inputs.size());
  batch.losses.resize(hasTargets ? model->losses.size() : 0);
  for (const Column &column : columns) {
    Array &array = batch.array(column.slot);
    array = {column.dtype, slicedShape(column, std::min(largest, count)), Buffer()};
    array.data = Buffer(array.elements() * elementSize(array.dtype));
    if (!column.info->batchAxis)
      memcpy(array.data.data(), column.data.data(), array.data.size());
  }
  for (size_t i = 0; i < batch.losses.size(); ++i) {
    auto &[target, weight, lossWeight, positions] = batch.losses[i];
    if (!model->losses[i].weight || weight.data.size() != 0)
      continue;
    weight = {DType::F32, target.shape, Buffer()};
    weight.data = Buffer(weight.elements() * sizeof(float));
    std::fill_n(weight.as<float>(), weight.elements(), 1.0f);
  }
  for (size_t i = 0; i < batch.inputs.size() + 2 * batch.losses.size(); ++i)
    batch.mirrors.emplace_back(batch.array(i).data.data(), batch.array(i).data.size());
  return batch;
}

void Dataset::copySamples(const std::vector<const Block *> &from, const int64_t *order,
                          int64_t first, int64_t size, Batch &batch) const {
  auto count = static_cast<int64_t>(from.size());
  for (size_t i = 0; i < columns.size(); ++i) {
    const Column &column = columns[i];
    Array &out = batch.array(column.slot);
    // Rows of several samples interleave; blocks of rows keep the destination in cache.
    constexpr int64_t rows = 256;
    for (int64_t row = 0; row < column.outer && column.isSliced(); row += rows)
      for (int64_t s = 0; s < count; ++s)
        copyPieces(out.data.data() + (row * size + first + s) * column.inner,
                   from[s]->data[i].data() +
                       ((order[first + s] - from[s]->first) * column.outer + row) * column.inner,
                   std::min(rows, column.outer - row), column.inner, size * column.inner,
                   column.inner);
  }
}

void Dataset::gather(const int64_t *order, int64_t size, Batch &batch) const {
  std::vector<const Block *> from;
  int64_t first = 0;
  ++run;
  for (int64_t s = 0; s < size; ++s) {
    Block *block = findBlock(order[s]);
    if (!block) {
      // Their blocks may be evicted afterwards.
      copySamples(from, order, first, size, batch);
      from.clear();
      first = s;
      ++run;
      block = findBlock(order[s]);
    }
    block->used = run;
    from.push_back(block);
  }
  copySamples(from, order, first, size, batch);
  resize(size, batch);
  weigh(batch);
}

void Dataset::copy(const Batch &from, Batch &to) const {
  for (const Column &column : columns)
    if (column.isSliced())
      memcpy(to.array(column.slot).data.data(), from.array(column.slot).data.data(),
             from.samples * column.sampleBytes());
  resize(from.samples, to);
  for (size_t i = 0; i < from.losses.size(); ++i) {
    to.losses[i].lossWeight = from.losses[i].lossWeight;
    to.losses[i].positions = from.losses[i].positions;
  }
}

void Dataset::resize(int64_t size, Batch &batch) const {
  for (const Column &column : columns) {
    Array &array = batch.array(column.slot);
    array.shape = slicedShape(column, size);
    if (column.isSliced())
      batch.mirrors[column.slot].hostChanged(array.elements() * elementSize(array.dtype));
  }
  // Weights that are not in a file have the shape of the target.
  for (size_t i = 0; i < batch.losses.size(); ++i)
    if (model->losses[i].weight)
      batch.losses[i].weight.shape = batch.losses[i].target.shape;
  if (batch.samples != size)
    batch.symbols = bindSlices(size);
  batch.samples = size;
}

Batch Dataset::whole() const {
  requireBatches(count);
  Batch batch = newBatch(count);
  gather(all().data(), count, batch);
  return batch;
}
