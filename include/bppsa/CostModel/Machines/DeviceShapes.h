//===- DeviceShapes.h - GPU block and tile sizes ----------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// Decisions of the GPU lowering that depend only on sizes. The cost model of
// docs/Explanation/GPUCosts.md shares them.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_COSTMODEL_MACHINES_DEVICESHAPES_H
#define BPPSA_COSTMODEL_MACHINES_DEVICESHAPES_H

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace bppsa::cost {

inline constexpr int64_t kWarpThreads = 32, kMaxThreads = 1024, kRegistersOfBlock = 65536;

/// Estimated registers of a thread besides matrix entries.
inline constexpr int64_t kRegistersBesidesMatrix = 48;

/// Steps per block if steps are independent.
inline constexpr int64_t kStepsPerBlock = 32;

/// Maximum rows of all states that a thread keeps for a column. Beyond it, ptxas begins to spill (a
/// GRU of 24 units, an LSTM of 16).
inline constexpr int64_t kMaxColumnRows = 20;

/// Maximum matrix entries of a link for which a thread runs a whole column. Each entry is an
/// instruction, so this is 64 KiB of code; copies of the entries fit into 48 KiB of shared memory.
inline constexpr int64_t kMaxColumnEntries = 4096;

/// Maximum matrix entries that a block of a backward pass reads from memory in every step; beyond
/// it, several blocks share the rows. Measured on an H200: a step of an LSTM with 128 units (65536
/// entries) takes 0.9 of the time of cooperating blocks, with 512 units nine times as long.
inline constexpr int64_t kMaxEntriesInMemory = 1 << 16;

/// Shared memory of a block in bytes, and the part for prefetched operands: a multiprocessor that
/// runs 32 one-warp blocks has 7 KiB for each.
inline constexpr int64_t kBlockSharedBytes = 48 << 10, kMaxRingBytes = 16 << 10;

/// Threads per block for a tile of a product over all steps, and for outer products with one thread
/// per element.
inline constexpr int64_t kTiledProductThreads = 4 * kWarpThreads, kElementThreads = 256;

/// For blocks that share rows: warps per block (one block per multiprocessor); maximum blocks,
/// below the 132 multiprocessors of an H200; samples that a warp multiplies at once; and columns
/// that a warp reads at once, four per lane.
inline constexpr int64_t kCooperativeWarps = 8, kMaxRowGroups = 128, kCooperativeSamples = 4,
                         kCooperativeColumns = 4 * kWarpThreads;

/// Slots of a prefetch ring: at seven steps of 0.1 us, a read may take 0.7 us; links of a column
/// take about 0.3 us.
inline constexpr int64_t kMaxStages = 8, kColumnStages = 4;

/// Rows and columns of the result of a tensor core product, and the minimum number of terms per
/// sum.
inline constexpr int64_t kTileRows = 16, kTileColumns = 8, kTileDepth = 8;

/// Maximum elements of the sums of all blocks, maximum blocks with sums, and number of blocks that
/// is always allowed.
inline constexpr int64_t kMaxSumElements = 4 << 20, kMaxSumBlocks = 4096, kMinSumBlocks = 512;

/// Returns the maximum number of blocks of a launch if each has a sum of `numElements` elements.
inline constexpr int64_t countMaxPartialSums(int64_t numElements) {
  return std::clamp(kMaxSumElements / numElements, kMinSumBlocks, kMaxSumBlocks);
}

/// By instruction count, tiles win over one thread per element if at least a quarter of a 16 x 16
/// tile is used.
inline constexpr bool multipliesInTiles(int64_t rows, int64_t columns) {
  return 4 * std::min(rows, kTileRows) * std::min(columns, kTileRows) >= kTileRows * kTileRows;
}

/// Returns true if the vectors of all steps and samples are multiplied by a matrix on tensor cores.
/// With fewer than 8 elements, one thread per element needs as few instructions.
inline constexpr bool multipliesStepsInTiles(int64_t rows, int64_t columns) {
  return columns >= kTileDepth && multipliesInTiles(rows, columns);
}

/// With more warps, a thread has fewer than 255 registers. More column tiles read and split the
/// matrix less often, but need more registers.
inline constexpr int64_t kMaxColumnTileWarps = 8, kMaxColumnTileTiles = 4;

/// Maximum registers for matrices, for values of a step, and for both.
inline constexpr int64_t kMaxMatrixRegisters = 128, kMaxValueRegisters = 128,
                         kMaxColumnTileRegisters = 152;

inline int64_t roundUpToWarps(int64_t threads) {
  return (threads + kWarpThreads - 1) / kWarpThreads * kWarpThreads;
}

/// Distribution of matrix rows, held in registers, over the threads of a block.
struct BlockShape {
  /// Threads per row, threads per block, and matrix entries per thread.
  int64_t parts, threads, entries;
};

/// Returns the reason why `parts` threads cannot share a row, or an empty string.
std::string findLimit(int64_t rows, const std::vector<int64_t> &columns,
                      const std::vector<int64_t> &summed, int64_t parts);

/// Chooses the block for matrices with rows of `columns` entries. `summed` lists the row lengths of
/// sums that are also kept in registers. Returns nothing if registers do not suffice.
std::optional<BlockShape> shareRows(int64_t rows, const std::vector<int64_t> &columns,
                                    const std::vector<int64_t> &summed = {});

/// Returns the rows per warp if blocks share rows: as many as fit the registers, because all rows
/// of a warp are multiplied by the same vector. A lane has `entries` matrix entries per row and
/// `sums` accumulators. Returns nothing if registers or blocks do not suffice for `rows` rows.
std::optional<int64_t> countRowsPerWarp(int64_t rows, int64_t entries, int64_t sums);

/// Returns the number of steps to prefetch at `bytes` per step into `maxBytes`; 0 if fewer than two
/// fit.
int64_t countStages(int64_t bytes, int64_t maxBytes = kMaxRingBytes);

/// Inputs of the choice of column tiles for tensor cores.
struct ColumnTileNeeds {
  /// Maximum rows of a vector of the link, and columns of a transition.
  int64_t rows, columns;
  /// Vectors that a thread keeps for a whole step: states and operands of products.
  int64_t vectors;
  /// Rows of product operands in shared memory, and other bytes of shared memory.
  int64_t sharedRows, otherBytes;
};

/// How a block runs a column tile.
struct ColumnTileShape {
  /// Warps of the block, row tiles per warp, column tiles, and registers per thread for values.
  int64_t warps, rowTiles, columnTiles, valueRegisters;

  bool fits(int64_t registers) const {
    return registers <= kMaxMatrixRegisters &&
           registers + valueRegisters <= kMaxColumnTileRegisters;
  }
};

/// Returns the widest column tiles that fit, balanced so that the last one is about as wide as the
/// others.
std::optional<ColumnTileShape> shapeColumnTile(const ColumnTileNeeds &needs);

struct ColumnShape {
  /// Threads per column; true if matrix rows are in registers (otherwise in shared memory); and
  /// entries per thread.
  int64_t parts;
  bool inRegisters;
  int64_t entries;
};

/// Chooses the smallest number of threads per column that keeps all entries in registers.
ColumnShape shareColumn(const std::vector<std::pair<int64_t, int64_t>> &matrices, bool canShare);

/// Returns true if the input projections of a recurrence are hoisted and computed for all steps at
/// once. `inputs` are the columns of the matrices of input projections, `others` of all other
/// matrices; all have at most `rows` rows. Hoisting costs a write and a read of 8 bytes in total
/// per row of a projection, step and sample. It is done if the rows of `inputs` force more threads
/// to share a row, or keep the rows from fitting the registers of a block.
bool shouldHoistInputs(int64_t rows, const std::vector<int64_t> &inputs,
                       const std::vector<int64_t> &others);

} // namespace bppsa::cost

#endif // BPPSA_COSTMODEL_MACHINES_DEVICESHAPES_H
