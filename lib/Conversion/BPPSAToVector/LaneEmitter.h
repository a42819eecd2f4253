//===- LaneEmitter.h - emit one step of a body ------------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_CONVERSION_BPPSATOVECTOR_LANEEMITTER_H
#define BPPSA_LIB_CONVERSION_BPPSATOVECTOR_LANEEMITTER_H

#include "bppsa/Dialect/BPPSA/Analysis/BodyPlan.h"
#include "bppsa/Support/IndexArithmetic.h"

namespace bppsa {

/// The mapping of values to vector registers.
struct LaneOptions {
  /// Samples per vector; 1 if lanes hold hidden units.
  int64_t lanes = 16;
  /// Vectors of `lanes` elements in the register file.
  int64_t registers = 32;
  /// Samples that are computed together and share the loads of matrix entries. If lanes hold
  /// samples, the number of sample vectors.
  int64_t samples = 1;

  /// Registers left for accumulators next to a vector row and a matrix entry.
  int64_t getNumAccumulators() const { return std::max<int64_t>(1, registers * 3 / 4); }
  /// True if blocks of several sums and samples do not fit.
  bool hasFewRegisters() const { return getNumAccumulators() < 24; }
  /// Returns the number of registers of one vector. Every register file has at least 16 registers.
  int64_t getRegistersOfVector() const;
};

/// The elements of one vector. If lanes hold samples, this is row `first` of a body value for
/// `width` samples. If lanes hold units, it is the rows [first, first + width) of one sample.
/// `sample` selects one of the samples (or sample vectors) computed together; null selects the
/// first.
struct Tile {
  mlir::Value first;
  int64_t width;
  mlir::Value sample = {};
};

/// The maximum number of units per vector.
inline constexpr int64_t kTileUnits = 16;

/// Calls `emit(first, width)` for tiles that cover `count` units: full tiles, then powers of two,
/// because LLVM scalarizes vectors of other widths.
void forEachUnitTile(int64_t count, llvm::function_ref<void(int64_t first, int64_t width)> emit);

/// Rows in memory. If lanes hold samples, row n is `memref[prefix..., first + n, 0 : lanes]`. If
/// lanes hold units, it is the element `memref[prefix..., first + n]`.
struct Rows {
  Rows() = default;
  Rows(mlir::Value memref, llvm::ArrayRef<mlir::Value> prefix = {}, int64_t first = 0)
      : memref(memref), prefix(prefix), first(first) {}

  mlir::Value memref;
  llvm::SmallVector<mlir::Value, 3> prefix;
  int64_t first = 0;
  /// The prefix index that distinguishes samples (or sample vectors) computed together. It is the
  /// first index, or the step if steps are independent.
  unsigned sampleDim = 0;
  /// The first lane and the number of lanes, if the rows are a part of the lanes. Only used if
  /// lanes hold samples.
  mlir::Value firstLane;
  int64_t numLanes = 0;

  mlir::Value load(mlir::OpBuilder &builder, mlir::Location loc, const Tile &tile) const;
  void store(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value vector,
             mlir::Value row) const;
  /// Loads the element of `row` if lanes hold units.
  mlir::Value loadEntry(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value row) const;
  /// Loads `row` if lanes hold samples.
  mlir::Value load(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value row) const;
  /// Prefetches `row` into the L2 cache if lanes hold samples.
  void prefetch(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value row, bool isWrite) const;
  mlir::VectorType getRowType() const;
  /// Returns true if lanes hold units, so rows have no lane dimension.
  bool lanesHoldUnits() const;
  /// Returns `count` lanes of these rows, from `lane` on.
  Rows ofLanes(mlir::Value lane, int64_t count) const;
  Rows dropFront(int64_t count) const;
  /// Returns the same rows of the sample (or sample vector) at offset `sample`, if given.
  Rows ofSample(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value sample) const;
};

/// Allocates `[rows, lanes]` on the stack, or `[rows]` if lanes hold units. With several samples,
/// allocates `[samples, ...]`.
Rows allocateRows(mlir::OpBuilder &builder, mlir::Location loc, int64_t rows,
                  mlir::VectorType rowType, int64_t samples = 1);

/// Rows of a later step to prefetch into the L2 cache, for each argument and result. Rows without
/// memory are not prefetched; the lists may be empty.
struct LaterRows {
  llvm::SmallVector<Rows> arguments, results;
};

/// Emits one step of a body for one vector of samples or, if lanes hold units, for one sample.
/// `setSamples` makes it compute several together.
class LaneEmitter {
public:
  static llvm::FailureOr<LaneEmitter> create(mlir::Block &body, mlir::ValueRange captures,
                                             const LaneOptions &options);

  /// Allocates the values passed between loops at the insertion point, which must dominate all
  /// emitted steps and belong to one thread.
  void allocateScratch(mlir::OpBuilder &builder, mlir::Location loc);

  /// Emits one step. `arguments` are the rows of all arguments except captures. Yielded value i is
  /// written to `results[i]`. Argument rows of a later step are prefetched between the columns of
  /// products if one row block covers all rows, or together with rows of this step if registers are
  /// few. Result rows of a later step are prefetched when this step writes its results.
  void emitStep(mlir::OpBuilder &builder, mlir::Location loc, llvm::ArrayRef<Rows> arguments,
                llvm::ArrayRef<Rows> results, const LaterRows &later = {});

  const BodyPlan &getPlan() const { return plan; }

  /// Returns the largest power of two up to `most` of samples (or sample vectors) whose
  /// accumulators fit into registers.
  int64_t getMaxSamples(int64_t most) const;
  /// Sets the number of samples (or sample vectors) computed together. Must be called before
  /// `allocateScratch`. Results are bitwise the same for any number.
  void setSamples(int64_t samples) { options.samples = samples; }
  int64_t getSamples() const { return options.samples; }

private:
  using RowValues = llvm::DenseMap<mlir::Value, mlir::Value>;

  LaneEmitter(BodyPlan plan, mlir::Block &body, mlir::ValueRange captures,
              const LaneOptions &options);

  void emitUnit(mlir::OpBuilder &builder, mlir::Location loc, const RowUnit &unit);
  void emitInsert(mlir::OpBuilder &builder, mlir::Location loc,
                  mlir::vector::InsertStridedSliceOp op, mlir::Value sample);
  void emitRowBlock(mlir::OpBuilder &builder, mlir::Location loc, const RowUnit &unit,
                    mlir::Value firstRow, int64_t numRows);
  /// Like emitRowBlock, for `tiles` of several samples. The operations after the sums are emitted
  /// once, in a loop over samples.
  void emitRowsOfSamples(mlir::OpBuilder &builder, mlir::Location loc, const RowUnit &unit,
                         llvm::ArrayRef<Tile> tiles);
  /// Like emitRowBlock, for `tiles` of rows whose sums are computed one after the other and stored
  /// in memory. The operations after the sums are a loop over rows. Lanes hold samples.
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
  /// A product and the index of its sum in the unit.
  struct Accumulation {
    MatVecOp product;
    size_t sum;

    mlir::Value getVector() const { return MatVecOp(product).getVector(); }
  };
  /// A running sum for each sum of a unit and each tile of a block.
  using Accumulators = llvm::SmallVector<llvm::SmallVector<mlir::Value>>;
  /// Returns the number of partial sums over which the columns of products of `unit` are
  /// distributed. It does not depend on the number of samples.
  int64_t getNumPartials(const RowUnit &unit) const;
  void startSums(mlir::OpBuilder &builder, mlir::Location loc, const RowUnit &unit, size_t i,
                 llvm::ArrayRef<Tile> tiles, llvm::MutableArrayRef<RowValues> values,
                 llvm::MutableArrayRef<Accumulators> partials);
  Accumulators accumulateSums(mlir::OpBuilder &builder, mlir::Location loc, const RowUnit &unit,
                              size_t first, size_t end, llvm::ArrayRef<Tile> tiles,
                              llvm::MutableArrayRef<RowValues> values);
  void finishSum(mlir::OpBuilder &builder, mlir::Location loc, const RowUnit &unit, size_t i,
                 const Tile &tile, mlir::Value accumulated, RowValues &values);
  /// Returns how many sums of `unit` have accumulators at the same time.
  int64_t getSumsTogether(const RowUnit &unit) const;
  void accumulateProducts(mlir::OpBuilder &builder, mlir::Location loc,
                          llvm::ArrayRef<Accumulation> products, llvm::ArrayRef<Tile> tiles,
                          llvm::MutableArrayRef<Accumulators> partials, bool fetches);
  void accumulateColumn(mlir::OpBuilder &builder, mlir::Location loc,
                        llvm::ArrayRef<Accumulation> products, llvm::ArrayRef<Tile> tiles,
                        mlir::Value col, Accumulators &accumulators);
  bool lanesHoldUnits() const { return options.lanes == 1; }
  int64_t getTileRows() const { return lanesHoldUnits() ? kTileUnits : 1; }
  /// Returns how many tiles of each sample of `unit` are computed together.
  int64_t getTilesTogether(const RowUnit &unit) const;
  int64_t getTilesTogether(const RowUnit &unit, int64_t accumulators) const;
  /// `count` argument rows of a later step.
  struct FetchedRows {
    Rows rows;
    int64_t count;
  };
  void planFetches(llvm::ArrayRef<Rows> laterArguments);
  /// Removes from `fetched` the rows to prefetch during a loop over `numCols` columns.
  llvm::SmallVector<FetchedRows> takeFetched(int64_t numCols);
  void emitFetches(mlir::OpBuilder &builder, mlir::Location loc,
                   llvm::ArrayRef<FetchedRows> fetched, mlir::Value col, int64_t numCols);
  /// Return the memory locations of `value` of a sample: the first, and all.
  Rows getRootRows(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value value,
                   mlir::Value sample) const;
  llvm::SmallVector<Rows> getAllRootRows(mlir::OpBuilder &builder, mlir::Location loc,
                                         mlir::Value value, mlir::Value sample) const;

  BodyPlan plan;
  mlir::Block *body;
  LaneOptions options;
  unsigned firstCapture;
  llvm::SmallVector<mlir::Value> captures;
  llvm::DenseMap<mlir::Value, Rows> scratch;
  llvm::ArrayRef<Rows> arguments, results, laterResults;
  /// The rows of a later step still to be prefetched, and the remaining columns to distribute them
  /// over.
  llvm::SmallVector<FetchedRows> fetched;
  int64_t fetchingColumns = 0;
  /// Argument rows of a later step that are prefetched when a row of this step is read. Used with
  /// few registers, where row blocks lead to too many loops over columns.
  llvm::SmallVector<Rows> fetchedWithRows;
};

void emitFor(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value lower, mlir::Value upper,
             int64_t step, llvm::function_ref<void(mlir::OpBuilder &, mlir::Value)> body);

/// Calls `emit(first, size)` for full blocks of `[0, size)` and for the remainder.
void emitBlocks(mlir::OpBuilder &builder, mlir::Location loc, int64_t size, int64_t block,
                llvm::function_ref<void(mlir::OpBuilder &, mlir::Value, int64_t)> emit);

/// Emits a loop of `body(sample)`. A single sample gets no loop and a null `sample`.
void emitForSamples(mlir::OpBuilder &builder, mlir::Location loc, int64_t samples,
                    llvm::function_ref<void(mlir::OpBuilder &, mlir::Value)> body);

void emitTiles(mlir::OpBuilder &builder, mlir::Location loc, const Rows &rows, int64_t from,
               int64_t to, llvm::function_ref<void(mlir::OpBuilder &, const Tile &)> body);

mlir::VectorType getTileType(mlir::Type bodyType, const Tile &tile);

mlir::Value loadEntries(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value array,
                        llvm::ArrayRef<mlir::Value> indices, unsigned dim, int64_t width);

} // namespace bppsa

#endif // BPPSA_LIB_CONVERSION_BPPSATOVECTOR_LANEEMITTER_H
