//===- LaneEmitter.h - emits one step of a body -----------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_CONVERSION_BPPSATOVECTOR_LANEEMITTER_H
#define BPPSA_LIB_CONVERSION_BPPSATOVECTOR_LANEEMITTER_H

#include "bppsa/Dialect/BPPSA/Analysis/BodyPlan.h"
#include "bppsa/Support/IndexArithmetic.h"

namespace bppsa {

/// How values map to the registers of the target.
struct LaneOptions {
  /// Samples in one vector.
  int64_t lanes = 16;
  /// Vectors of `lanes` values that the register file holds.
  int64_t registers = 32;
  /// Over units, the samples that are computed together and share what is read of matrices; over
  /// samples, the vectors of samples.
  int64_t samples = 1;

  /// Registers left for accumulators beside a vector row and a matrix entry.
  int64_t getNumAccumulators() const { return std::max<int64_t>(1, registers * 3 / 4); }
  /// Whether blocks of several sums and samples do not fit.
  bool hasFewRegisters() const { return getNumAccumulators() < 24; }
  /// Registers that hold one vector: every register file has 16 registers at least.
  int64_t getRegistersOfVector() const;
};

/// Values that one vector holds. Over samples it is row `first` of a body value,
/// for `width` samples; over hidden units, with one sample, it is the rows
/// [first, first + width). It is of one of the samples, or vectors of them, that are computed
/// together; without `sample`, of the first.
struct Tile {
  mlir::Value first;
  int64_t width;
  mlir::Value sample = {};
};

/// The most units in one vector, where vectors hold hidden units.
inline constexpr int64_t kTileUnits = 16;

/// Calls `emit(first, width)` for the tiles of `count` units: as many as fit, and powers of two of
/// the rest, as LLVM computes with other widths number by number.
void forEachUnitTile(int64_t count, llvm::function_ref<void(int64_t first, int64_t width)> emit);

/// Rows in memory. Over samples, row n is `memref[prefix..., first + n, 0 : lanes]`;
/// over units it is the number `memref[prefix..., first + n]`.
struct Rows {
  Rows() = default;
  Rows(mlir::Value memref, llvm::ArrayRef<mlir::Value> prefix = {}, int64_t first = 0)
      : memref(memref), prefix(prefix), first(first) {}

  mlir::Value memref;
  llvm::SmallVector<mlir::Value, 3> prefix;
  int64_t first = 0;
  /// Which index tells samples, or vectors of them, apart that are computed together: the first
  /// one, or that of steps where these do not wait for each other.
  unsigned sampleDim = 0;
  /// Over samples, where these are part of the lanes: the first of them, and how many they are.
  mlir::Value firstLane;
  int64_t numLanes = 0;

  mlir::Value load(mlir::OpBuilder &builder, mlir::Location loc, const Tile &tile) const;
  void store(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value vector,
             mlir::Value row) const;
  /// The number in row `row` over units.
  mlir::Value loadEntry(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value row) const;
  /// Row `row` over samples.
  mlir::Value load(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value row) const;
  /// Fetches row `row` over samples into the second-level cache.
  void prefetch(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value row, bool isWrite) const;
  /// The vector type of a row over samples.
  mlir::VectorType getRowType() const;
  /// Whether vectors hold hidden units: a row has no lanes.
  bool isOverUnits() const;
  /// Over samples, `count` lanes from `lane` on of these rows.
  Rows ofLanes(mlir::Value lane, int64_t count) const;
  /// These rows without the first `count`.
  Rows dropFront(int64_t count) const;
  /// The same rows of the sample, or vector of samples, that comes `sample` later, if given.
  Rows ofSample(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value sample) const;
};

/// A `[rows, lanes]` array on the stack, `[rows]` over units; for several samples, or vectors of
/// them, `[samples, ...]`.
Rows allocateRows(mlir::OpBuilder &builder, mlir::Location loc, int64_t rows,
                  mlir::VectorType rowType, int64_t samples = 1);

/// Rows of a later step, which are fetched into the second-level cache while this one is computed:
/// for each argument and each result, without memory where there is nothing to fetch, or no entries
/// at all.
struct LaterRows {
  llvm::SmallVector<Rows> arguments, results;
};

/// Emits a body for the samples of one vector, or the first of samples over units, and one step.
class LaneEmitter {
public:
  /// Plans `body`; fails after a diagnostic (see BodyPlan::create).
  static llvm::FailureOr<LaneEmitter> create(mlir::Block &body, mlir::ValueRange captures,
                                             const LaneOptions &options);

  /// Allocates, at the insertion point, memory for the values between loops.
  /// The point must dominate every emitted step, and belong to one thread.
  void allocateScratch(mlir::OpBuilder &builder, mlir::Location loc);

  /// Emits one step. `arguments` are the rows of the arguments that are not
  /// captures; the rows of yielded value i are written to `results[i]`. Rows of arguments of a
  /// later step are fetched one or two at a time between the columns of products, where one block
  /// of rows takes them all, or with the rows of this step, where registers are few; those of
  /// results where this step writes them.
  void emitStep(mlir::OpBuilder &builder, mlir::Location loc, llvm::ArrayRef<Rows> arguments,
                llvm::ArrayRef<Rows> results, const LaterRows &later = {});

  const BodyPlan &getPlan() const { return plan; }

  /// How many samples, or vectors of them, up to `most`, which is a power of two, have accumulators
  /// in registers when they are computed together.
  int64_t getMaxSamples(int64_t most) const;
  /// How many of them are computed together from now on; comes before `allocateScratch`. Each of
  /// them has the bits that it has alone.
  void setSamples(int64_t samples) { options.samples = samples; }
  int64_t getSamples() const { return options.samples; }

private:
  using RowValues = llvm::DenseMap<mlir::Value, mlir::Value>;

  LaneEmitter(BodyPlan plan, mlir::Block &body, mlir::ValueRange captures,
              const LaneOptions &options);

  void emitUnit(mlir::OpBuilder &builder, mlir::Location loc, const RowUnit &unit);
  void emitInsert(mlir::OpBuilder &builder, mlir::Location loc,
                  mlir::vector::InsertStridedSliceOp op, mlir::Value sample);
  /// Emits `numRows` rows from `firstRow`, together.
  void emitRowBlock(mlir::OpBuilder &builder, mlir::Location loc, const RowUnit &unit,
                    mlir::Value firstRow, int64_t numRows);
  /// As emitRowBlock for `tiles` of several samples: what follows after the sums is a loop over
  /// samples, whose code is there once.
  void emitRowsOfSamples(mlir::OpBuilder &builder, mlir::Location loc, const RowUnit &unit,
                         llvm::ArrayRef<Tile> tiles);
  /// As emitRowBlock for `tiles` of rows over samples whose sums come one after the other and wait
  /// in memory: what follows after them is a loop over rows.
  void emitRowsOneByOne(mlir::OpBuilder &builder, mlir::Location loc, const RowUnit &unit,
                        llvm::ArrayRef<Tile> tiles);
  llvm::SmallVector<Rows> accumulateInMemory(mlir::OpBuilder &builder, mlir::Location loc,
                                             const RowUnit &unit, llvm::ArrayRef<Tile> tiles);
  void emitRow(mlir::OpBuilder &builder, mlir::Location loc, const RowUnit &unit, const Tile &tile,
               RowValues &values);
  mlir::Value getRow(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value value,
                     const RowUnit &unit, const Tile &tile, RowValues &values);
  mlir::Value loadCapturedVector(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value value,
                                 const Tile &tile);
  mlir::Value loadMatrix(mlir::OpBuilder &builder, mlir::Location loc, MatVecOp op,
                         const Tile &tile, mlir::Value col);
  /// A product and the sum of a unit that it belongs to.
  struct Accumulation {
    MatVecOp product;
    size_t sum;

    mlir::Value getVector() const { return MatVecOp(product).getVector(); }
  };
  /// A running sum for each sum of a unit and each tile of a block.
  using Accumulators = llvm::SmallVector<llvm::SmallVector<mlir::Value>>;
  /// Into how many partial sums the columns of products of `unit` are shared out: as many for any
  /// number of samples.
  int64_t getNumPartials(const RowUnit &unit) const;
  void startSums(mlir::OpBuilder &builder, mlir::Location loc, const RowUnit &unit, size_t i,
                 llvm::ArrayRef<Tile> tiles, llvm::MutableArrayRef<RowValues> values,
                 llvm::MutableArrayRef<Accumulators> partials);
  Accumulators accumulateSums(mlir::OpBuilder &builder, mlir::Location loc, const RowUnit &unit,
                              size_t first, size_t end, llvm::ArrayRef<Tile> tiles,
                              llvm::MutableArrayRef<RowValues> values);
  void finishSum(mlir::OpBuilder &builder, mlir::Location loc, const RowUnit &unit, size_t i,
                 const Tile &tile, mlir::Value accumulated, RowValues &values);
  /// How many sums of `unit` have accumulators at the same time.
  int64_t getSumsTogether(const RowUnit &unit) const;
  void accumulateProducts(mlir::OpBuilder &builder, mlir::Location loc,
                          llvm::ArrayRef<Accumulation> products, llvm::ArrayRef<Tile> tiles,
                          llvm::MutableArrayRef<Accumulators> partials, bool fetches);
  void accumulateColumn(mlir::OpBuilder &builder, mlir::Location loc,
                        llvm::ArrayRef<Accumulation> products, llvm::ArrayRef<Tile> tiles,
                        mlir::Value col, Accumulators &accumulators);
  bool isOverUnits() const { return options.lanes == 1; }
  /// Rows of a whole tile.
  int64_t getTileRows() const { return isOverUnits() ? kTileUnits : 1; }
  /// How many tiles of each sample of `unit` are computed together.
  int64_t getTilesTogether(const RowUnit &unit) const;
  /// The same where a tile has `accumulators`.
  int64_t getTilesTogether(const RowUnit &unit, int64_t accumulators) const;
  /// Rows of an argument of a later step: `count` of them from the first.
  struct FetchedRows {
    Rows rows;
    int64_t count;
  };
  void planFetches(llvm::ArrayRef<Rows> laterArguments);
  /// Takes from `fetched` what is fetched beside a loop over `numCols` columns.
  llvm::SmallVector<FetchedRows> takeFetched(int64_t numCols);
  void emitFetches(mlir::OpBuilder &builder, mlir::Location loc,
                   llvm::ArrayRef<FetchedRows> fetched, mlir::Value col, int64_t numCols);
  /// Where `value` of a sample is in memory: the first place, and all of them.
  Rows getHome(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value value,
               mlir::Value sample) const;
  llvm::SmallVector<Rows> getHomes(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value value,
                                   mlir::Value sample) const;

  BodyPlan plan;
  mlir::Block *body;
  LaneOptions options;
  unsigned firstCapture;
  llvm::SmallVector<mlir::Value> captures;
  llvm::DenseMap<mlir::Value, Rows> scratch;
  llvm::ArrayRef<Rows> arguments, results, laterResults;
  /// What is still to be fetched for a later step, and the columns left to do it beside.
  llvm::SmallVector<FetchedRows> fetched;
  int64_t fetchingColumns = 0;
  /// Rows of arguments of a later step that are fetched where a row of this step is read, if any:
  /// where few registers cut rows into blocks, there are too many loops over columns to do it
  /// there.
  llvm::SmallVector<Rows> fetchedWithRows;
};

/// Emits `body(iv)` for iv in [lower, upper) with a constant step.
void emitFor(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value lower, mlir::Value upper,
             int64_t step, llvm::function_ref<void(mlir::OpBuilder &, mlir::Value)> body);

/// Calls `emit(first, size)` for the whole blocks of `[0, size)` and for the rest.
void emitBlocks(mlir::OpBuilder &builder, mlir::Location loc, int64_t size, int64_t block,
                llvm::function_ref<void(mlir::OpBuilder &, mlir::Value, int64_t)> emit);

/// Emits `body(sample)` for each of `samples` samples, as a loop; for one without a sample.
void emitForSamples(mlir::OpBuilder &builder, mlir::Location loc, int64_t samples,
                    llvm::function_ref<void(mlir::OpBuilder &, mlir::Value)> body);

/// Emits `body(tile)` for the tiles of rows [from, to) of `rows`.
void emitTiles(mlir::OpBuilder &builder, mlir::Location loc, const Rows &rows, int64_t from,
               int64_t to, llvm::function_ref<void(mlir::OpBuilder &, const Tile &)> body);

/// The vector type of a tile of a body value.
mlir::VectorType getTileType(mlir::Type bodyType, const Tile &tile);

/// Loads `width` entries of `array` from `indices` along dimension `dim`.
mlir::Value loadEntries(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value array,
                        llvm::ArrayRef<mlir::Value> indices, unsigned dim, int64_t width);

} // namespace bppsa

#endif // BPPSA_LIB_CONVERSION_BPPSATOVECTOR_LANEEMITTER_H
