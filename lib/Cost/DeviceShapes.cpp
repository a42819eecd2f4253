//===- DeviceShapes.cpp - blocks, columns and chunks by sizes -------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Cost/DeviceShapes.h"

#include <algorithm>
#include <cmath>

using namespace bppsa::cost;

/// More entries in registers leave too few for everything else.
static constexpr int64_t mostEntries = 128;

/// Entries and elements of sums together, with which ptxas does not spill.
static constexpr int64_t mostWithSums = 160;

int64_t bppsa::cost::chunkSteps(int64_t steps) {
  auto root = static_cast<int64_t>(std::sqrt(static_cast<double>(steps) * 0.5));
  return std::clamp(root, shortestChunk, longestChunk);
}

/// What one of `parts` threads has of rows of so many elements.
static int64_t countElements(const std::vector<int64_t> &sizes, int64_t parts) {
  int64_t elements = 0;
  for (int64_t size : sizes)
    elements += (size + parts - 1) / parts;
  return elements;
}

std::optional<BlockShape> bppsa::cost::shareRows(int64_t rows, const std::vector<int64_t> &columns,
                                                 const std::vector<int64_t> &summed) {
  for (int64_t parts = 1; parts <= 8 && parts * rows <= mostThreads; parts *= 2) {
    int64_t entries = countElements(columns, parts), all = entries + countElements(summed, parts);
    int64_t threads = roundUpToWarps(rows * parts);
    if (entries <= mostEntries && all <= mostWithSums &&
        (all + otherRegisters) * threads <= registersOfBlock)
      return BlockShape{parts, threads, entries};
  }
  return std::nullopt;
}
