//===- SampleBlocks.cpp - Blocks of samples in memory ---------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "CopyPieces.h"
#include "bppsa/Runtime/Device/Device.h"
#include "bppsa/Runtime/Error.h"
#include "bppsa/Runtime/Files/Dataset.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <set>

using namespace bppsa::runtime;

/// Blocks shuffled together. Twice as many are kept in memory, to read ahead.
static constexpr int64_t kBlocksTogether = 16;
static constexpr int64_t kNeverUsed = std::numeric_limits<int64_t>::max();

int64_t Dataset::bytesPerSample() const {
  int64_t bytes = 0;
  for (const Column &column : columns)
    bytes += column.isSliced() ? column.sampleBytes() : 0;
  return std::max<int64_t>(bytes, 1);
}

int64_t Dataset::heldSamples() const {
  return std::clamp<int64_t>(memory / bytesPerSample(), 1, count);
}

int64_t Dataset::blockSamples() const {
  return std::max<int64_t>(heldSamples() / (2 * kBlocksTogether), 1);
}

ShuffleBlocks Dataset::shuffleBlocks() const {
  int64_t held = heldSamples(), samples = blockSamples();
  return held == count ? ShuffleBlocks{count, 1}
                       : ShuffleBlocks{samples, std::max<int64_t>(held / 2 / samples, 1)};
}

void Dataset::setMemory(int64_t bytes) {
  memory = bytes;
  if (!isHeld)
    blocks.clear();
}

/// Returns zeros for initial states and ones for weights.
Buffer Dataset::makeDefault(const Column &column, int64_t bytes) const {
  Buffer data(bytes);
  if (isWeight(column))
    std::fill_n(data.floats(), bytes / sizeof(float), 1.0f);
  return data;
}

void Dataset::toSamples(const Column &column, int64_t samples, int64_t size, const std::byte *from,
                        std::byte *to) {
  int64_t inner = column.inner / static_cast<int64_t>(elementSize(column.dtype)) * size;
  if (column.outer == 1) {
    memcpy(to, from, samples * inner);
    return;
  }
  for (int64_t i = 0; i < samples; ++i)
    copyPieces(to + i * column.outer * inner, from + i * inner, column.outer, inner, inner,
               samples * inner);
}

void Dataset::checkValues(const Column &column, const std::byte *values, int64_t elements,
                          const Position &position) const {
  const auto *floats = reinterpret_cast<const float *>(values);
  if (column.dtype == DType::F32)
    requireFinite(floats, elements, position);
  if (column.info->classes)
    requireClasses(values, column.dtype, elements, *column.info->classes, model->ignoreIndex,
                   position);
  if (isWeight(column))
    requireNoNegative(floats, elements, position);
}

Position Dataset::positions(const Column &column, const ArrayFile &file, int64_t start) const {
  return [this, &column, &file, start](int64_t i) {
    std::vector<int64_t> shape = column.shape, begin = beginOf(column, 0);
    if (!column.isSliced())
      return position(i, shape, begin);
    // Unlike the file, memory has the batch axis in front.
    shape[*column.info->batchAxis] = file.count;
    int64_t inner = column.sampleElements() / column.outer, sample = start;
    sample += i / column.sampleElements();
    return position((i / inner % column.outer * file.count + sample) * inner + i % inner, shape,
                    begin);
  };
}

void Dataset::takeSamples(const Column &column, const ArrayFile &file, int64_t start,
                          int64_t samples, const std::byte *from, std::byte *to) const {
  DType found = file.headers.at(column.info->name).dtype;
  auto size = static_cast<int64_t>(elementSize(found));
  int64_t elements = column.sampleElements() * (column.isSliced() ? samples : 1);
  Position position = positions(column, file, start);
  try {
    if (found == column.dtype) {
      toSamples(column, samples, size, from, to);
    } else {
      Buffer arranged = Buffer::uninitialized(elements * size);
      toSamples(column, samples, size, from, arranged.data());
      convert(arranged.data(), found, to, column.dtype, elements, position);
    }
    checkValues(column, to, elements, position);
  } catch (const Error &error) {
    fail(where(file.path, *column.info), error.what());
  }
}

void Dataset::readSamples(const Column &column, const ArrayFile &file, int64_t start,
                          int64_t samples, std::byte *to) const {
  const std::string &array = column.info->name;
  auto size = static_cast<int64_t>(elementSize(file.headers.at(array).dtype));
  int64_t inner = column.sampleElements() / column.outer * size;
  int64_t chunk =
      std::clamp<int64_t>((1 << 20) / std::max<int64_t>(column.outer * inner, 1), 1, samples);
  Buffer part = Buffer::uninitialized(column.outer * chunk * inner);
  ArrayPart reader(file, array);
  for (int64_t first = 0; first < samples; first += chunk) {
    int64_t count = std::min(chunk, samples - first);
    std::byte *next = part.data();
    forEachPiece(column, file, start + first, count, size, [&](int64_t offset, int64_t bytes) {
      reader.read(offset, bytes, next);
      next += bytes;
    });
    takeSamples(column, file, start + first, count, part.data(), to + first * column.sampleBytes());
  }
}

template <typename Visit>
void Dataset::forEachFile(int64_t first, int64_t samples, Visit &&visit) const {
  for (const ArrayFile &file : files) {
    int64_t from = std::max(first, file.first);
    int64_t end = std::min(first + samples, file.first + file.count);
    if (from < end)
      visit(file, from - file.first, end - from);
  }
}

Buffer Dataset::readShared(const Column &column, const ArrayFile &file) const {
  Buffer values(column.inner);
  takeSamples(column, file, 0, 1, readWhole(column, file).data.data(), values.data());
  return values;
}

Buffer Dataset::loadShared(const Column &column) const {
  if (!column.isStored)
    return makeDefault(column, column.inner);
  Buffer values = readShared(column, files.front());
  for (const ArrayFile &file : files)
    if (&file != &files.front() &&
        memcmp(readShared(column, file).data(), values.data(), values.size()) != 0)
      fail(where(file.path, *column.info), "differs from ", quote(files.front().path),
           ", but no axis of it carries samples, so that it must be the same in all files");
  return values;
}

Buffer Dataset::fillSliced(const Column &column, int64_t first, int64_t samples) const {
  int64_t bytes = column.sampleBytes();
  if (!column.isStored)
    return makeDefault(column, samples * bytes);
  Buffer values = Buffer::uninitialized(samples * bytes);
  forEachFile(first, samples, [&](const ArrayFile &file, int64_t start, int64_t count) {
    std::byte *to = values.data() + (file.first + start - first) * bytes;
    bool isPart = isShared(column) && file.offsets.count(column.info->name);
    if (!isHeld || isPart)
      return readSamples(column, file, start, count, to);
    Array array = readWhole(column, file);
    takeSamples(column, file, start, count, array.data.data(), to);
  });
  return values;
}

static void requireMemoryFor(uint64_t bytes, const ArrayFile &file, const std::string &name) {
  if (uint64_t available = availableMemory(); bytes > available)
    fail(file.prefix(), "array ", quote(name),
         ": is compressed or not in C order, so that the set ",
         "must be held in memory: ", describeBytes(bytes), ", found ", describeBytes(available),
         "; C-ordered arrays, as numpy.savez writes them, are read in parts as needed");
}

void Dataset::load() {
  int64_t bytes = bytesPerSample() * count, largest = 0;
  isHeld = bytes <= memory;
  for (const Column &column : columns)
    if (int64_t bytes = column.sampleBytes() * count; column.isSliced())
      largest = std::max(largest, isShared(column) ? bytes / ownSteps.count * ownSteps.all : bytes);
  for (const Column &column : columns)
    for (const ArrayFile &file : files)
      if (!isHeld && column.isSliced() && column.isStored &&
          !file.offsets.count(column.info->name)) {
        // Both layouts are in memory during conversion.
        requireMemoryFor(bytes + largest, file, column.info->name);
        isHeld = true;
      }
  for (Column &column : columns)
    if (!column.isSliced())
      column.data = loadShared(column);
  for (size_t i = 0; i < columns.size(); ++i)
    if (isWeight(columns[i]) && !columns[i].isSliced())
      maskPositions(columns[i], Block(), columns[i - 1].data, columns[i].data);
  if (isHeld)
    blocks[0] = loadBlock(0, count);
}

Dataset::Block Dataset::loadBlock(int64_t first, int64_t samples) const {
  Block block{first, samples, std::vector<Buffer>(columns.size())};
  for (size_t i = 0; i < columns.size(); ++i)
    if (columns[i].isSliced())
      block.data[i] = fillSliced(columns[i], first, samples);
  // A target precedes its weights.
  for (size_t i = 0; i < columns.size(); ++i)
    if (isWeight(columns[i]) && columns[i].isSliced())
      maskPositions(columns[i], block, block.data[i - 1], block.data[i]);
  for (const Bound &bound : bounds)
    requireBound(bound, block);
  return block;
}

Dataset::Block *Dataset::findBlock(int64_t sample) const {
  if (isHeld)
    return &blocks.begin()->second;
  int64_t size = blockSamples(), number = sample / size;
  if (auto found = blocks.find(number); found != blocks.end())
    return &found->second;
  if (static_cast<int64_t>(blocks.size()) >= std::max<int64_t>(heldSamples() / size, 1)) {
    auto oldest =
        std::min_element(blocks.begin(), blocks.end(), [](const auto &one, const auto &other) {
          return one.second.used < other.second.used;
        });
    if (oldest->second.used == run)
      return nullptr;
    blocks.erase(oldest);
  }
  int64_t first = number * size;
  Block &block = blocks[number] = loadBlock(first, std::min(size, count - first));
  block.used = kNeverUsed;
  return &block;
}

std::vector<int64_t> Dataset::samplesToReadAhead(const std::vector<int64_t> &order,
                                                 int64_t first) const {
  std::vector<int64_t> found;
  std::set<int64_t> seen;
  for (auto i = static_cast<size_t>(first); i < order.size(); ++i)
    if (seen.insert(order[i] / blockSamples()).second)
      found.push_back(order[i]);
  return found;
}

void Dataset::requireBound(const Bound &bound, const Block &block) const {
  const Column &column = columns[bound.column];
  const std::byte *data = values(block, bound.column);
  auto check = [&](const ArrayFile &file, int64_t start, int64_t elements) {
    try {
      requireBetween(data, column.dtype, elements, bound.least, bound.most, bound.meaning,
                     positions(column, file, start));
    } catch (const Error &error) {
      fail(where(file.path, *column.info), error.what());
    }
    data += elements * static_cast<int64_t>(elementSize(column.dtype));
  };
  if (!column.isSliced() && !files.empty())
    return check(files.front(), 0, elementCount(column.shape));
  forEachFile(block.first, block.count, [&](const ArrayFile &file, int64_t start, int64_t samples) {
    check(file, start, samples * column.sampleElements());
  });
}

void Dataset::requireBounds(const Symbols &symbols) const {
  auto add = [&](size_t index, int64_t least, int64_t most, const char *meaning) {
    Bound bound{index, least, most, meaning};
    // Other blocks are checked when they are read.
    for (const auto &entry : blocks)
      requireBound(bound, entry.second);
    bool isNew = std::none_of(bounds.begin(), bounds.end(), [&](const Bound &other) {
      return other.column == index && other.least == least && other.most == most;
    });
    if (isNew)
      bounds.push_back(bound);
  };
  // Lengths refer to whole sequences.
  Symbols whole = symbols;
  for (const Column &column : columns)
    if (const Extent *steps =
            isShared(column) ? &column.info->shape[*column.info->timeAxis] : nullptr;
        steps && steps->kind == Extent::Kind::Symbol)
      whole[steps->symbol] = ownSteps.all;
  for (size_t i = 0; i < columns.size(); ++i) {
    for (const Extent &bound : columns[i].info->indexBounds)
      if (std::optional<int64_t> size = evaluate(bound, symbols))
        add(i, -*size, *size - 1, "an index");
    for (const Extent &bound : columns[i].info->lengthBounds)
      if (std::optional<int64_t> steps = evaluate(bound, whole))
        add(i, 1, *steps, "the length of a sample");
  }
}
