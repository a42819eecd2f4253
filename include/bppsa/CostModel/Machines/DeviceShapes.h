//===- DeviceShapes.h - blocks, columns and chunks by sizes -----*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// What the lowering of a loop decides by sizes alone, and the cost model of
// docs/Explanation/GPUCosts.md has to know too.
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

/// Threads of a warp, the most threads of a block, and registers of a block.
inline constexpr int64_t kWarpThreads = 32, kMaxThreads = 1024, kRegistersOfBlock = 65536;

/// Registers of a thread that are not entries of matrices, as an estimate.
inline constexpr int64_t kOtherRegisters = 48;

/// Steps that a block takes where steps are independent.
inline constexpr int64_t kStepsOfBlock = 32;

/// The most rows that a thread keeps of a column that it runs, and of the states together. With
/// more, ptxas begins to spill (a GRU of 24 units, an LSTM of 16), and a block has work for more of
/// its threads.
inline constexpr int64_t kMaxColumnRows = 20;

/// The most entries of matrices of a link that a thread runs, each of which is an instruction of a
/// step: 64 KiB of code. Their copies take less than the 48 KiB of shared memory that a block has.
inline constexpr int64_t kMaxColumnEntries = 4096;

/// The most entries of matrices that a block of a backward pass reads from memory in every step
/// sooner than blocks that share rows wait for each other. Measured on an H200: a step of a GRU and
/// an LSTM of 128 units (49152 and 65536 entries) takes 0.75 and 0.9 of the time, one of an LSTM of
/// 512 (2^20) nine times it.
inline constexpr int64_t kMaxEntriesInMemory = 1 << 16;

/// Bytes of shared memory that a block has, and that what a loop reads ahead may take: a
/// multiprocessor that runs 32 blocks of a warp has 7 KiB for each.
inline constexpr int64_t kBlockSharedBytes = 48 << 10, kMaxRingBytes = 16 << 10;

/// Threads of a block that has a tile of a product of all steps, and of one that has a tile of
/// outer products with a thread for each element.
inline constexpr int64_t kTiledProductThreads = 4 * kWarpThreads, kElementThreads = 256;

/// Warps of a block that shares rows with others: with all registers that a thread can have, one
/// block is what a multiprocessor holds. The most such blocks, of the 132 multiprocessors of an
/// H200; samples that a warp multiplies its rows with at a time; and columns that it reads at a
/// time, of which a lane has four.
inline constexpr int64_t kCooperativeWarps = 8, kMaxRowGroups = 128, kCooperativeSamples = 4,
                         kCooperativeColumns = 4 * kWarpThreads;

/// Steps that a ring has slots for: with seven steps of 0.1 us a read may take 0.7 us. Of the links
/// of a column, one of which takes some 0.3 us in a small state.
inline constexpr int64_t kMaxStages = 8, kColumnStages = 4;

/// Rows and columns of the result of a product on tensor cores, and the least terms of its sums.
inline constexpr int64_t kTileRows = 16, kTileColumns = 8, kTileDepth = 8;

/// Elements of sums of all blocks of a launch together, and blocks with sums, that are not
/// exceeded; blocks that are started in any case.
inline constexpr int64_t kMaxSumElements = 4 << 20, kMaxSumBlocks = 4096, kMinSumBlocks = 512;

/// The blocks with sums of `numElements` elements each that a launch starts at most.
inline constexpr int64_t countMaxPartialSums(int64_t numElements) {
  return std::clamp(kMaxSumElements / numElements, kMinSumBlocks, kMaxSumBlocks);
}

/// Whether outer products of vectors of these sizes are added up over all steps and samples by
/// tiles of tensor cores: these are counted to need fewer instructions than a thread for each
/// element where a quarter of a tile of 16 x 16 is used.
inline constexpr bool multipliesInTiles(int64_t rows, int64_t columns) {
  return 4 * std::min(rows, kTileRows) * std::min(columns, kTileRows) >= kTileRows * kTileRows;
}

/// Whether the vectors of all steps and samples are multiplied by a matrix in such tiles. Vectors
/// of less than 8 elements are counted to need as few instructions by a thread for each element.
inline constexpr bool multipliesStepsInTiles(int64_t rows, int64_t columns) {
  return columns >= kTileDepth && multipliesInTiles(rows, columns);
}

/// The most warps of a block that runs a column tile: with more, threads have less than 255
/// registers. The most tiles of columns: with more, a matrix is read or split less often, and
/// values of a step need more registers.
inline constexpr int64_t kMaxColumnTileWarps = 8, kMaxColumnTileTiles = 4;

/// Registers of a thread of a column tile that matrices may take, that values of a step may, and
/// both.
inline constexpr int64_t kMaxMatrixRegisters = 128, kMaxValueRegisters = 128,
                         kMaxColumnTileRegisters = 152;

/// Rounds up to whole warps.
inline int64_t roundUpToWarps(int64_t threads) {
  return (threads + kWarpThreads - 1) / kWarpThreads * kWarpThreads;
}

/// How the threads of a block share rows of matrices that are in registers.
struct BlockShape {
  /// Threads that share a row, threads of the block, and entries of matrices in each thread.
  int64_t parts, threads, entries;
};

/// What rules out that `parts` threads share a row, of blocks as `shareRows` chooses them; empty
/// where nothing does.
std::string findLimit(int64_t rows, const std::vector<int64_t> &columns,
                      const std::vector<int64_t> &summed, int64_t parts);

/// The block for values of at most `rows` rows whose matrices have rows of `columns` entries; none
/// where rows do not fit the registers of threads, however they are shared. `summed` are the
/// elements of rows of sums that are shared like those of matrices, and in registers beside them.
std::optional<BlockShape> shareRows(int64_t rows, const std::vector<int64_t> &columns,
                                    const std::vector<int64_t> &summed = {});

/// The rows that a warp has where blocks share rows: as many as the registers hold, as each is
/// multiplied with the same vector. A lane has `entries` of matrices for a row, and adds up `sums`
/// products at a time; none where registers or blocks do not suffice for `rows` rows.
std::optional<int64_t> shareRowsOfBlocks(int64_t rows, int64_t entries, int64_t sums);

/// Steps that are read ahead where each takes `bytes` of the `maxBytes` of shared memory, 0 where
/// not even two fit, or where there is nothing to read.
int64_t countStages(int64_t bytes, int64_t maxBytes = kMaxRingBytes);

/// What the sizes of column tiles on tensor cores follow from.
struct ColumnTileNeeds {
  /// The most rows of a vector of the link, and columns of a map.
  int64_t rows, columns;
  /// Vectors that a thread has for a whole step: states, and what products multiply.
  int64_t vectors;
  /// Rows of all that products multiply, which is in shared memory, in whole tiles; and bytes that
  /// something else takes there.
  int64_t sharedRows, otherBytes;
};

/// How a block runs a column tile.
struct ColumnTileShape {
  /// Warps of the block, tiles of rows of each, tiles of columns, and registers of a thread for the
  /// values of a step.
  int64_t warps, rowTiles, columnTiles, valueRegisters;

  /// Whether a thread has `registers` for matrices beside them.
  bool fits(int64_t registers) const {
    return registers <= kMaxMatrixRegisters &&
           registers + valueRegisters <= kMaxColumnTileRegisters;
  }
};

/// The widest column tiles that fit, the last of a map about as wide as the others; none where not
/// even one tile of columns fits.
std::optional<ColumnTileShape> shapeColumnTile(const ColumnTileNeeds &needs);

/// How neighbouring threads of a warp share the rows of a column that they run.
struct ColumnShape {
  /// Threads of a column; whether each has its rows of the matrices in registers, else it is one
  /// thread, which reads them from shared memory; and how many entries that are.
  int64_t parts;
  bool inRegisters;
  int64_t entries;
};

/// The threads of a column of a link that multiplies by matrices of such (rows, columns): the
/// fewest that have all entries in registers, where they `canShare` rows.
ColumnShape shareColumn(const std::vector<std::pair<int64_t, int64_t>> &matrices, bool canShare);

/// Whether products of what a recurrence reads are computed for all steps before it, and not in its
/// steps. `inputs` are the columns of matrices that multiply what it reads, `others` of all others,
/// of at most `rows` rows. It is done where the rows of `inputs` are why more threads share a row,
/// or why rows do not fit the registers of a block. It writes and reads 8 bytes for each row of a
/// product, step and sample.
bool takesOutInputs(int64_t rows, const std::vector<int64_t> &inputs,
                    const std::vector<int64_t> &others);

} // namespace bppsa::cost

#endif // BPPSA_COSTMODEL_MACHINES_DEVICESHAPES_H
