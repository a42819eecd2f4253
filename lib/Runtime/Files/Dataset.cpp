//===- Dataset.cpp - Samples and batches ----------------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Runtime/Files/Dataset.h"
#include "Files/PositionWeights.h"
#include "bppsa/Runtime/Error.h"
#include "bppsa/Runtime/Files/ArrayChecks.h"

#include <algorithm>

using namespace bppsa::runtime;

std::string Dataset::where(const std::string &path, const ArrayInfo &info) const {
  return text(path.empty() ? "" : quote(path) + ": ", "array ", quote(info.name), ": ");
}

void Dataset::addColumn(const ArrayInfo &info, size_t slot, DType dtype,
                        const std::vector<int64_t> &shape) {
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
  Column column{&info, slot, info.dtype, shape, 1, 1, true, Buffer()};
  for (size_t i = 0; i < shape.size(); ++i)
    if (auto axis = static_cast<int64_t>(i); axis != info.batchAxis)
      (info.batchAxis && axis < *info.batchAxis ? column.outer : column.inner) *= shape[i];
  column.inner *= static_cast<int64_t>(elementSize(info.dtype));
  columns.push_back(std::move(column));
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
      fail(where(name, *column.info), wrong);
  }
  return symbols;
}

std::optional<int64_t> Dataset::steps() const {
  for (const Column &column : columns)
    if (column.info->timeAxis)
      return column.shape[*column.info->timeAxis];
  return std::nullopt;
}

std::vector<std::string> Dataset::paths() const {
  std::vector<std::string> found;
  for (const ArrayFile &file : files)
    if (!file.path.empty())
      found.push_back(file.path);
  return found;
}

void Dataset::countSamples() {
  const ArrayInfo *first = nullptr;
  count = 1;
  for (const Column &column : columns) {
    if (!column.info->batchAxis)
      continue;
    int64_t samples = column.shape[*column.info->batchAxis];
    if (samples == 0)
      fail(where(name, *column.info), "found shape ", list(column.shape), ": there are no samples");
    if (first && samples != count)
      fail(where(name, *column.info), "found ", samples, " samples (axis ", *column.info->batchAxis,
           "), expected ", count, " as in array ", quote(first->name));
    count = samples;
    first = first ? first : column.info;
  }
}

/// States and weights are optional; unknown arrays are errors.
static void checkNames(const std::map<std::string, NpyHeader> &headers, const Model &model,
                       TargetUse use) {
  std::vector<std::string> needed, expected, found;
  for (const ArrayInfo &input : model.inputs) {
    expected.push_back(input.name);
    if (input.carried.empty())
      needed.push_back(input.name);
  }
  std::vector<std::string> ignored;
  for (const LossInfo &loss : model.losses) {
    if (loss.target && use == TargetUse::Needed)
      needed.push_back(loss.target->name);
    std::vector<std::string> &names = use == TargetUse::Needed ? expected : ignored;
    if (loss.target)
      names.push_back(loss.target->name);
    if (loss.readsWeight)
      names.push_back(loss.weight->name);
  }
  for (const auto &entry : headers)
    found.push_back(quote(entry.first));
  for (const std::string &name : needed)
    if (!headers.count(name))
      fail("there is no array ", quote(name), "; found ", list(found));
  for (const auto &entry : headers) {
    bool isKnown = std::find(expected.begin(), expected.end(), entry.first) != expected.end() ||
                   std::find(ignored.begin(), ignored.end(), entry.first) != ignored.end();
    if (!isKnown)
      fail("unknown array ", quote(entry.first), "; the model takes ", list(expected),
           "; remove it or give it one of these names");
  }
}

static Symbols bindHeaders(const std::map<std::string, NpyHeader> &headers, const Model &model) {
  Symbols symbols(model.symbols.size());
  std::vector<std::string> origin(symbols.size());
  for (const ArrayInfo &input : model.inputs)
    if (auto header = headers.find(input.name); header != headers.end())
      bindShape(model, input, header->second.shape, symbols, origin);
  return symbols;
}

static const ArrayInfo *findArray(const Model &model, const std::string &name) {
  for (const ArrayInfo &input : model.inputs)
    if (input.name == name)
      return &input;
  for (const LossInfo &loss : model.losses)
    for (const std::optional<ArrayInfo> *info : {&loss.target, &loss.weight})
      if (*info && (*info)->name == name)
        return &**info;
  return nullptr;
}

static void requireAlike(const NpyHeader &found, const NpyHeader &first,
                         std::optional<int64_t> axis, const std::string &path) {
  auto describe = [&](const NpyHeader &header) {
    return text(numpyName(header.dtype), " ", list(header.shape));
  };
  std::vector<int64_t> one = found.shape, other = first.shape;
  for (std::vector<int64_t> *shape : {&one, &other})
    if (axis && *axis < static_cast<int64_t>(shape->size()))
      (*shape)[*axis] = 0;
  if (found.dtype != first.dtype || one != other)
    fail("found ", describe(found), ", expected ", describe(first), " as in ", quote(path),
         axis ? text(" but for axis ", *axis, ", the sample axis") : std::string());
}

static int64_t samplesOf(const ArrayFile &file, const Model &model) {
  std::string first;
  int64_t count = 1;
  for (const auto &[name, header] : file.headers) {
    const ArrayInfo *info = findArray(model, name);
    if (!info || !info->batchAxis || *info->batchAxis >= static_cast<int64_t>(header.shape.size()))
      continue;
    int64_t samples = header.shape[*info->batchAxis];
    if (!first.empty() && samples != count)
      fail("array ", quote(name), ": found ", samples, " samples (axis ", *info->batchAxis,
           "), expected ", count, " as in array ", quote(first));
    count = samples;
    first = name;
  }
  return count;
}

std::map<std::string, NpyHeader> Dataset::joinFiles() {
  std::map<std::string, NpyHeader> joined = files.front().headers;
  checksum = files.front().fingerprint;
  if (files.size() == 1)
    return joined;
  int64_t first = 0;
  for (ArrayFile &file : files) {
    try {
      if (file.headers.size() != joined.size())
        fail("holds ", file.headers.size(), " arrays, expected ", joined.size(), " as in ",
             quote(files.front().path));
      file.count = samplesOf(file, *model);
    } catch (const Error &error) {
      fail(quote(file.path), ": ", error.what());
    }
    file.first = first;
    first += file.count;
    if (&file != &files.front())
      checksum = (checksum << 1 | checksum >> 31) ^ file.fingerprint;
  }
  for (auto &[name, header] : joined) {
    const ArrayInfo *info = findArray(*model, name);
    std::optional<int64_t> axis = info ? info->batchAxis : std::nullopt;
    for (const ArrayFile &file : files) {
      auto found = file.headers.find(name);
      if (found == file.headers.end())
        fail(quote(file.path), ": there is no array ", quote(name), ", but ",
             quote(files.front().path), " has one");
      try {
        requireAlike(found->second, files.front().headers.at(name), axis, files.front().path);
      } catch (const Error &error) {
        fail(quote(file.path), ": array ", quote(name), ": ", error.what());
      }
      if (axis && *axis < static_cast<int64_t>(header.shape.size()))
        header.shape[*axis] = &file == &files.front()
                                  ? found->second.shape[*axis]
                                  : header.shape[*axis] + found->second.shape[*axis];
    }
  }
  return joined;
}

void Dataset::addColumns(const std::map<std::string, NpyHeader> &headers) {
  auto add = [&](const ArrayInfo &info, size_t slot, bool isStored) {
    try {
      if (isStored)
        return addColumn(info, slot, headers.at(info.name).dtype,
                         sharedShape(info, headers.at(info.name).shape));
      addColumn(info, slot, info.dtype, model->extents(info.shape, bindHeaders(headers, *model)));
      columns.back().isStored = false;
    } catch (const Error &error) {
      fail(where(name, info), error.what());
    }
  };
  for (size_t i = 0; i < model->inputs.size(); ++i)
    add(model->inputs[i], i, headers.count(model->inputs[i].name) != 0);
  for (size_t i = 0; i < model->losses.size() && hasTargets; ++i) {
    const LossInfo &loss = model->losses[i];
    if (!loss.target)
      continue;
    add(*loss.target, slotOf(i), true);
    if (loss.readsWeight && headers.count(loss.weight->name) != 0) {
      add(*loss.weight, slotOf(i) + 1, true);
    } else if (loss.weight && derivesWeights(*model, loss)) {
      addColumn(*loss.weight, slotOf(i) + 1, DType::F32,
                std::vector<int64_t>(columns.back().shape));
      columns.back().isStored = false;
    }
  }
}

Dataset::Dataset(const std::string &path, const Model &model, TargetUse use, int64_t memory,
                 TimeShardSpec share)
    : model(&model), name(path), hasTargets(use == TargetUse::Needed), files(findArrayFiles(path)),
      memory(memory), share(share) {
  open();
}

Dataset::Dataset(const ArrayArguments &arrays, const Model &model, TargetUse use, int64_t memory,
                 TimeShardSpec share)
    : model(&model), hasTargets(use == TargetUse::Needed), memory(memory), share(share) {
  files.emplace_back(arrays);
  open();
}

std::string Dataset::title() const { return name.empty() ? "arrays" : quote(name); }

void Dataset::open() {
  TargetUse use = hasTargets ? TargetUse::Needed : TargetUse::Ignored;
  for (const ArrayFile &file : files) {
    try {
      checkNames(file.headers, *model, use);
    } catch (const Error &error) {
      fail(file.prefix(), error.what());
    }
  }
  addColumns(joinFiles());
  countSamples();
  bindSlices(fixed ? *fixed : count);
  if (files.size() == 1)
    files.front().count = count;
  // Read only after checking all shapes, because compressed archives can expand enormously.
  load();
}
