//===- DeviceShapes.cpp - GPU block and tile sizes ------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/CostModel/Machines/DeviceShapes.h"

#include <algorithm>
#include <cmath>

using namespace bppsa::cost;

static constexpr int64_t kMaxEntries = 128;

/// Maximum matrix entries and accumulators per thread together; beyond it, ptxas spills.
static constexpr int64_t kMaxWithSums = 160;

/// Other values of a step that a thread keeps at once, and its elements per tile.
static constexpr int64_t kOtherValues = 2, kTileElements = 4;

static int64_t divideUp(int64_t a, int64_t b) { return (a + b - 1) / b; }

/// Maximum matrix entries per thread of a column. ptxas does not spill a GRU of 20 units with this
/// many in 8 threads, but spills an LSTM of 10 units with 200 in 2.
static constexpr int64_t kMaxColumnRegisters = 180;

static constexpr int64_t kMaxParts = 8;

/// Maximum accumulators of a lane if blocks share rows.
static constexpr int64_t kMaxCooperativeSums = 48;

/// Maximum threads of a column: with more, threads have few rows and exchange many.
static constexpr int64_t kMaxColumnParts = 8;

static int64_t countElements(const std::vector<int64_t> &sizes, int64_t parts) {
  int64_t elements = 0;
  for (int64_t size : sizes)
    elements += divideUp(size, parts);
  return elements;
}

std::string bppsa::cost::findLimit(int64_t rows, const std::vector<int64_t> &columns,
                                   const std::vector<int64_t> &summed, int64_t parts) {
  auto exceeds = [](int64_t value, const char *what, int64_t most) {
    return std::to_string(value) + what + ", above " + std::to_string(most);
  };
  if (parts * rows > kMaxThreads)
    return exceeds(parts * rows, " threads of a block", kMaxThreads);
  int64_t entries = countElements(columns, parts), all = entries + countElements(summed, parts);
  int64_t registers = (all + kRegistersBesidesMatrix) * roundUpToWarps(rows * parts);
  if (entries > kMaxEntries)
    return exceeds(entries, " entries of matrices in a thread", kMaxEntries);
  if (all > kMaxWithSums)
    return exceeds(all, " entries of matrices and sums in a thread", kMaxWithSums);
  if (registers > kRegistersOfBlock)
    return exceeds(registers, " registers of a block", kRegistersOfBlock);
  return "";
}

std::optional<BlockShape> bppsa::cost::shareRows(int64_t rows, const std::vector<int64_t> &columns,
                                                 const std::vector<int64_t> &summed) {
  for (int64_t parts = 1; parts <= kMaxParts; parts *= 2)
    if (findLimit(rows, columns, summed, parts).empty())
      return BlockShape{parts, roundUpToWarps(rows * parts), countElements(columns, parts)};
  return std::nullopt;
}

std::optional<int64_t> bppsa::cost::countRowsPerWarp(int64_t rows, int64_t entries, int64_t sums) {
  int64_t rowsOfWarp = 8;
  while (rowsOfWarp > 1 && (rowsOfWarp * entries > kMaxEntries ||
                            rowsOfWarp * sums * kCooperativeSamples > kMaxCooperativeSums))
    rowsOfWarp /= 2;
  bool fits = entries > 0 && rowsOfWarp * entries <= kMaxEntries &&
              divideUp(rows, kCooperativeWarps * rowsOfWarp) <= kMaxRowGroups;
  return fits ? std::optional(rowsOfWarp) : std::nullopt;
}

int64_t bppsa::cost::countStages(int64_t bytes, int64_t maxBytes) {
  int64_t count = bytes == 0 ? 0 : kMaxStages;
  while (count > 1 && count * bytes > maxBytes)
    count /= 2;
  return count == 1 ? 0 : count;
}

std::optional<ColumnTileShape> bppsa::cost::shapeColumnTile(const ColumnTileNeeds &needs) {
  int64_t tiles = divideUp(needs.rows, kTileRows), rowTiles = divideUp(tiles, kMaxColumnTileWarps);
  int64_t registers = (needs.vectors + kOtherValues) * rowTiles * kTileElements;
  auto fits = [&](int64_t columnTiles) {
    int64_t bytes = needs.sharedRows * columnTiles * kTileColumns * 4;
    return bytes + needs.otherBytes <= kBlockSharedBytes &&
           registers * columnTiles <= kMaxValueRegisters;
  };
  int64_t most = kMaxColumnTileTiles;
  while (most > 0 && !fits(most))
    --most;
  if (most == 0)
    return std::nullopt;
  int64_t all = divideUp(needs.columns, kTileColumns),
          columnTiles = divideUp(all, divideUp(all, most));
  return ColumnTileShape{divideUp(tiles, rowTiles), rowTiles, columnTiles, registers * columnTiles};
}

ColumnShape bppsa::cost::shareColumn(const std::vector<std::pair<int64_t, int64_t>> &matrices,
                                     bool canShare) {
  auto countEntries = [&](int64_t parts) {
    int64_t entries = 0;
    for (auto [rows, columns] : matrices)
      entries += divideUp(rows, parts) * columns;
    return entries;
  };
  for (int64_t parts = 1; parts <= (canShare ? kMaxColumnParts : 1); parts *= 2)
    if (int64_t entries = countEntries(parts); entries <= kMaxColumnRegisters)
      return {parts, /*inRegisters=*/true, entries};
  return {/*parts=*/1, /*inRegisters=*/false, countEntries(1)};
}

bool bppsa::cost::shouldHoistInputs(int64_t rows, const std::vector<int64_t> &inputs,
                                    const std::vector<int64_t> &others) {
  if (inputs.empty())
    return false;
  std::vector<int64_t> all = inputs;
  all.insert(all.end(), others.begin(), others.end());
  std::optional<BlockShape> together = shareRows(rows, all), alone = shareRows(rows, others);
  return !together || (alone && alone->parts < together->parts);
}
