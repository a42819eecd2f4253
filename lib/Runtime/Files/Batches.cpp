//===- Batches.cpp - Samples that are computed together -------------------------===//
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
    mirror.keepSpare();
}

void Batch::copyAhead() {
  for (DeviceMirror &mirror : mirrors)
    mirror.copyAhead();
}

void Batch::addTo(const Model &model, ViewTable &views) {
  auto add = [&](const std::string &key, Array &array, size_t index) {
    if (index < mirrors.size())
      views[key] = {array.data.data(), array.shape, elementSize(array.dtype), Access::Read,
                    &mirrors[index]};
  };
  for (size_t i = 0; i < inputs.size(); ++i)
    add("input:" + model.inputs[i].name, inputs[i], i);
  if (model.targetArray)
    add("target", target, inputs.size());
  if (model.weightArray)
    add("weight", weight, inputs.size() + 1);
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
    fail(quote(name), ": ", samples, " samples are no multiple of ", *fixed,
         ", the batch size that the model fixes; choose another --val-split");
  requireBounds(bindSlices(std::min(size, samples)));
  if (size < samples && samples % size != 0)
    requireBounds(bindSlices(samples % size));
}

Batch Dataset::newBatch(int64_t largest) const {
  Batch batch;
  for (const Column &column : columns) {
    Array array{column.dtype, slicedShape(column, std::min(largest, count)), Buffer()};
    array.data = Buffer(array.elements() * elementSize(array.dtype));
    if (!column.info->batchAxis)
      memcpy(array.data.data(), column.data.data(), array.data.size());
    batch.mirrors.emplace_back(array.data.data(), array.data.size());
    if (column.info == (model->targetArray ? &*model->targetArray : nullptr))
      batch.target = std::move(array);
    else if (column.info == (model->weightArray ? &*model->weightArray : nullptr))
      batch.weight = std::move(array);
    else
      batch.inputs.push_back(std::move(array));
  }
  if (model->weightArray && batch.mirrors.size() == batch.inputs.size() + 1) {
    batch.weight = {DType::F32, batch.target.shape, Buffer()};
    batch.weight.data = Buffer(batch.weight.elements() * sizeof(float));
    std::fill_n(batch.weight.as<float>(), batch.weight.elements(), 1.0f);
    batch.mirrors.emplace_back(batch.weight.data.data(), batch.weight.data.size());
  }
  return batch;
}

/// The array of `batch` that holds the samples of column `index`.
template <typename Batch> static auto &arrayOf(Batch &batch, size_t index) {
  size_t inputs = batch.inputs.size();
  return index < inputs ? batch.inputs[index] : index == inputs ? batch.target : batch.weight;
}

void Dataset::copySamples(const std::vector<const Block *> &from, const int64_t *order,
                          int64_t first, int64_t size, Batch &batch) const {
  auto count = static_cast<int64_t>(from.size());
  for (size_t i = 0; i < columns.size(); ++i) {
    const Column &column = columns[i];
    Array &out = arrayOf(batch, i);
    // Rows of several samples interleave in the batch: go block by block to stay in the cache.
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
      // The blocks of the samples so far may go once these are copied.
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
  for (size_t i = 0; i < columns.size(); ++i)
    if (columns[i].isSliced())
      memcpy(arrayOf(to, i).data.data(), arrayOf(from, i).data.data(),
             from.samples * columns[i].sampleBytes());
  resize(from.samples, to);
  to.lossWeight = from.lossWeight;
  to.counted = from.counted;
}

void Dataset::resize(int64_t size, Batch &batch) const {
  for (size_t i = 0; i < columns.size(); ++i) {
    Array &array = arrayOf(batch, i);
    array.shape = slicedShape(columns[i], size);
    if (columns[i].isSliced())
      batch.mirrors[i].hostChanged(array.elements() * elementSize(array.dtype));
  }
  // Weights that no file has are those of the target's positions.
  if (model->weightArray && batch.mirrors.size() > batch.inputs.size())
    batch.weight.shape = batch.target.shape;
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
