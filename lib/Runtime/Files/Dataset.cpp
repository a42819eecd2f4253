//===- Dataset.cpp - Samples and batches ----------------------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Runtime/Files/Dataset.h"
#include "CopyPieces.h"
#include "bppsa/Runtime/Error.h"
#include "bppsa/Runtime/Files/ArrayChecks.h"
#include "bppsa/Runtime/Training/Random.h"

#include <algorithm>
#include <cstring>
#include <numeric>

using namespace bppsa::runtime;

//===----------------------------------------------------------------------===//
// Layout
//===----------------------------------------------------------------------===//

std::string Dataset::where(const ArrayInfo &info) const {
  return text(name.empty() ? "" : quote(name) + ": ", "array ", quote(info.name), ": ");
}

/// What stands for the array of a column where a file has none: zeros for the state before the
/// first step, ones for weights.
Array Dataset::makeDefault(const Column &column) const {
  Array array{column.dtype, column.shape, Buffer()};
  array.data = Buffer(array.elements() * elementSize(column.dtype));
  if (model->weightArray && column.info == &*model->weightArray)
    std::fill_n(array.as<float>(), array.elements(), 1.0f);
  else
    memset(array.data.data(), 0, array.data.size());
  return array;
}

void Dataset::addColumn(const ArrayInfo &info, DType dtype, const std::vector<int64_t> &shape) {
  requireConvertible(dtype, info.dtype);
  if (shape.size() != info.shape.size())
    fail("found rank ", shape.size(), " (shape ", list(shape), "), expected rank ",
         info.shape.size(), ": ", model->shapeText(info.shape));
  if (info.batchAxis && info.shape[*info.batchAxis].kind == Extent::Kind::Number) {
    fixed = info.shape[*info.batchAxis].number;
    if (*fixed <= 0 || shape[*info.batchAxis] % *fixed != 0)
      fail("found ", shape[*info.batchAxis], " samples, expected a multiple of ", *fixed,
           ", the batch size that the model fixes");
  }
  columns.push_back({&info, info.dtype, shape, 1, 1, Buffer()});
}

void Dataset::fillColumn(Column &column, Array array) {
  const ArrayInfo &info = *column.info;
  array = convert(std::move(array), info.dtype);
  if (array.dtype == DType::F32)
    requireFinite(array);
  if (info.classes)
    requireClasses(array, *info.classes, model->ignoreIndex);
  if (&info == (model->weightArray ? &*model->weightArray : nullptr))
    requireNoNegative(array);

  size_t size = elementSize(array.dtype);
  if (!info.batchAxis) {
    column.inner = array.elements() * size;
    column.data = std::move(array.data);
  } else {
    for (size_t axis = 0; axis < array.shape.size(); ++axis)
      if (static_cast<int64_t>(axis) != *info.batchAxis)
        (static_cast<int64_t>(axis) < *info.batchAxis ? column.outer : column.inner) *=
            array.shape[axis];
    column.inner *= size;
    if (column.outer == 1) {
      column.data = std::move(array.data);
    } else {
      column.data = Buffer(array.data.size());
      int64_t samples = array.shape[*info.batchAxis], sample = column.outer * column.inner;
      for (int64_t i = 0; i < samples; ++i)
        copyPieces(column.data.data() + i * sample, array.data.data() + i * column.inner,
                   column.outer, column.inner, column.inner, samples * column.inner);
    }
  }
}

std::vector<int64_t> Dataset::slicedShape(const Column &column, int64_t size) const {
  std::vector<int64_t> shape = column.shape;
  if (column.info->batchAxis)
    shape[*column.info->batchAxis] = size;
  return shape;
}

Symbols Dataset::bindSlices(int64_t size) const {
  Symbols symbols(model->symbols.size());
  std::vector<std::string> origin(symbols.size());
  for (const Column &column : columns) {
    std::string wrong = bindShape(*model, *column.info, slicedShape(column, size), symbols, origin);
    if (!wrong.empty())
      fail(where(*column.info), wrong);
  }
  return symbols;
}

void Dataset::requireBounds(const Column &column, int64_t least, int64_t most,
                            const char *meaning) const {
  auto check = [&](const auto *values) {
    int64_t inner = column.inner / static_cast<int64_t>(elementSize(column.dtype));
    int64_t outer = column.outer, sample = outer * inner;
    int64_t elements = elementCount(column.shape), samples = sample ? elements / sample : 0;
    for (int64_t i = 0; i < elements; ++i) {
      if (values[i] >= least && values[i] <= most)
        continue;
      // Samples come first in memory, not in the file.
      int64_t flat = (i / inner % outer * samples + i / sample) * inner + i % inner;
      fail(where(*column.info), "element ", position(flat, column.shape), " is ", values[i],
           ", but the model takes it as ", meaning, "; accepted are ", least, " to ", most);
    }
  };
  column.dtype == DType::I64 ? check(reinterpret_cast<const int64_t *>(column.data.data()))
                             : check(reinterpret_cast<const int32_t *>(column.data.data()));
}

/// Indices must lie inside of the dimensions that they pick from, and samples must end.
void Dataset::requireBounds(const Symbols &symbols) const {
  for (const Column &column : columns) {
    for (const Extent &bound : column.info->indexBounds)
      if (std::optional<int64_t> size = evaluate(bound, symbols))
        requireBounds(column, -*size, *size - 1, "an index");
    for (const Extent &bound : column.info->lengthBounds)
      if (std::optional<int64_t> steps = evaluate(bound, symbols))
        requireBounds(column, 1, *steps, "the length of a sample");
  }
}

std::optional<int64_t> Dataset::steps() const {
  for (const Column &column : columns)
    if (column.info->timeAxis)
      return column.shape[*column.info->timeAxis];
  return std::nullopt;
}

void Dataset::countSamples() {
  const ArrayInfo *first = nullptr;
  count = 1;
  for (const Column &column : columns) {
    if (!column.info->batchAxis)
      continue;
    int64_t samples = column.shape[*column.info->batchAxis];
    if (samples == 0)
      fail(where(*column.info), "found shape ", list(column.shape), ": there are no samples");
    if (first && samples != count)
      fail(where(*column.info), "found ", samples, " samples (axis ", *column.info->batchAxis,
           "), expected ", count, " as in array ", quote(first->name));
    count = samples;
    first = first ? first : column.info;
  }
}

//===----------------------------------------------------------------------===//
// Loading
//===----------------------------------------------------------------------===//

/// Every array the model takes must be there but states, which are zero then, and no other.
static void checkNames(const std::map<std::string, NpyHeader> &headers, const Model &model,
                       TargetUse use) {
  std::vector<std::string> needed, expected, found;
  for (const ArrayInfo &input : model.inputs) {
    expected.push_back(input.name);
    if (input.carried.empty())
      needed.push_back(input.name);
  }
  if (model.targetArray && use == TargetUse::Needed)
    for (std::vector<std::string> *names : {&needed, &expected})
      names->push_back("target");
  // A file needs no weights.
  if (model.readsWeights() && use == TargetUse::Needed)
    expected.push_back("weight");
  for (const auto &entry : headers)
    found.push_back(quote(entry.first));
  for (const std::string &name : needed)
    if (!headers.count(name))
      fail("there is no array ", quote(name), "; found ", list(found));
  for (const auto &entry : headers) {
    bool known = std::find(expected.begin(), expected.end(), entry.first) != expected.end();
    bool ignored = use == TargetUse::Ignored && ((model.targetArray && entry.first == "target") ||
                                                 (model.readsWeights() && entry.first == "weight"));
    if (!known && !ignored)
      fail("unknown array ", quote(entry.first), "; the model takes ", list(expected),
           "; remove it or give it one of these names");
  }
}

/// The sizes that the arrays of a file have. Those that do not fit are told of later.
static Symbols bindHeaders(const std::map<std::string, NpyHeader> &headers, const Model &model) {
  Symbols symbols(model.symbols.size());
  std::vector<std::string> origin(symbols.size());
  for (const ArrayInfo &input : model.inputs)
    if (auto header = headers.find(input.name); header != headers.end())
      bindShape(model, input, header->second.shape, symbols, origin);
  return symbols;
}

Dataset::Dataset(const std::string &path, const Model &model, TargetUse use)
    : model(&model), name(path) {
  NpzReader archive(path);
  checksum = archive.fingerprint();
  auto inArray = [&](const ArrayInfo &info, auto &&action) {
    try {
      action();
    } catch (const Error &error) {
      fail(where(info), error.what());
    }
  };
  const ArrayInfo *weight = model.weightArray ? &*model.weightArray : nullptr;
  auto isThere = [&](const ArrayInfo &info) {
    return archive.headers().count(info.name) != 0 && (&info != weight || model.readsWeights());
  };
  auto add = [&](const ArrayInfo &info) {
    if (!isThere(info)) {
      Symbols symbols = bindHeaders(archive.headers(), model);
      inArray(info, [&] { addColumn(info, info.dtype, model.extents(info.shape, symbols)); });
      return;
    }
    const NpyHeader &header = archive.headers().at(info.name);
    inArray(info, [&] { addColumn(info, header.dtype, header.shape); });
  };
  try {
    checkNames(archive.headers(), model, use);
  } catch (const Error &error) {
    fail(quote(path), ": ", error.what());
  }
  for (const ArrayInfo &input : model.inputs)
    add(input);
  if (model.targetArray && use == TargetUse::Needed)
    add(*model.targetArray);
  if (weight && use == TargetUse::Needed) {
    if (isThere(*weight))
      add(*weight);
    else if (derivesWeights())
      addColumn(*weight, DType::F32, std::vector<int64_t>(columns.back().shape));
  }
  countSamples();
  bindSlices(fixed ? *fixed : count);
  // A few bytes of an archive can stand for gigabytes: they are not read before all shapes fit.
  for (Column &column : columns) {
    Array array = isThere(*column.info) ? archive.read(column.info->name) : makeDefault(column);
    inArray(*column.info, [&] { fillColumn(column, std::move(array)); });
  }
  if (weight && !columns.empty() && columns.back().info == weight)
    maskPositions();
}

void Dataset::addSynthetic(const ArrayInfo &info, const Symbols &symbols, Random &random) {
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
  // Lengths of samples are of all numbers of steps; other integers stay 0, the one index that every
  // table has.
  std::optional<int64_t> steps;
  for (const Extent &bound : info.lengthBounds)
    if (std::optional<int64_t> most = evaluate(bound, symbols))
      steps = steps ? std::min(*steps, *most) : *most;
  if (info.classes)
    fill(0, *info.classes);
  else if (steps)
    fill(1, *steps);
  addColumn(info, array.dtype, array.shape);
  fillColumn(columns.back(), std::move(array));
}

Dataset Dataset::synthetic(const Model &model, int64_t samples, int64_t steps,
                           const Symbols &others) {
  Dataset set(model);
  Symbols symbols(model.symbols.size());
  for (size_t i = 0; i < symbols.size(); ++i)
    symbols[i] = i < others.size() && others[i] ? *others[i] : model.leastSizes[i];
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
  Random random(1);
  for (const ArrayInfo &input : model.inputs)
    set.addSynthetic(input, symbols, random);
  if (model.targetArray)
    set.addSynthetic(*model.targetArray, symbols, random);
  set.countSamples();
  return set;
}
