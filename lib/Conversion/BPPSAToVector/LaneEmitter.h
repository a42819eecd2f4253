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

struct LaneOptions {
  /// Samples per vector; 1 if lanes hold hidden units.
  int64_t lanes = 16;
  int64_t registers = 32;
  /// Samples (or sample vectors) that share the loads of matrix entries.
  int64_t samples = 1;

  /// Registers left next to a vector row and a matrix entry.
  int64_t getNumAccumulators() const { return std::max<int64_t>(1, registers * 3 / 4); }
  /// True if blocks of several sums and samples do not fit.
  bool hasFewRegisters() const { return getNumAccumulators() < 24; }
  /// Every register file has at least 16 registers.
  int64_t getRegistersOfVector() const;
};

/// Elements of a vector: row `first` of `width` samples or, if lanes hold units, rows [first, first
/// + width) of one sample. `sample` selects one of those computed together; null selects the first.
struct Tile {
  mlir::Value first;
  int64_t width;
  mlir::Value sample = {};
};

inline constexpr int64_t kTileUnits = 16;

/// Emits full tiles, then powers of two, because LLVM scalarizes other widths.
void forEachUnitTile(int64_t count, llvm::function_ref<void(int64_t first, int64_t width)> emit);

/// Row n is `memref[prefix..., first + n, 0 : lanes]` or, if lanes hold units, the element
/// `memref[prefix..., first + n]`.
struct Rows {
  Rows() = default;
  Rows(mlir::Value memref, llvm::ArrayRef<mlir::Value> prefix = {}, int64_t first = 0)
      : memref(memref), prefix(prefix), first(first) {}

  mlir::Value memref;
  llvm::SmallVector<mlir::Value, 3> prefix;
  int64_t first = 0;
  /// Prefix index of samples computed together: the first, or the step if steps are independent.
  unsigned sampleDim = 0;
  /// Set if rows are a part of the (sample) lanes.
  mlir::Value firstLane;
  int64_t numLanes = 0;

  mlir::Value load(mlir::OpBuilder &builder, mlir::Location loc, const Tile &tile) const;
  void store(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value vector,
             mlir::Value row) const;
  /// Requires that lanes hold units.
  mlir::Value loadEntry(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value row) const;
  /// Requires that lanes hold samples.
  mlir::Value load(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value row) const;
  /// Prefetches into L2 if lanes hold samples.
  void prefetch(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value row, bool isWrite) const;
  mlir::VectorType getRowType() const;
  /// Returns true if lanes hold units, so rows have no lane dimension.
  bool lanesHoldUnits() const;
  /// Returns `count` lanes of these rows, from `lane` on.
  Rows ofLanes(mlir::Value lane, int64_t count) const;
  Rows dropFront(int64_t count) const;
  /// Returns the same rows of sample `sample`, if given.
  Rows ofSample(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value sample) const;
};

/// Allocates on the stack `[rows, lanes]`, or `[rows]` if lanes hold units; `[samples, ...]` with
/// several samples.
Rows allocateRows(mlir::OpBuilder &builder, mlir::Location loc, int64_t rows,
                  mlir::VectorType rowType, int64_t samples = 1);

/// Rows of a later step to prefetch, by argument and result. Lists may be empty.
struct LaterRows {
  llvm::SmallVector<Rows> arguments, results;
};

/// Emits one step for one vector of samples or, if lanes hold units, one sample, or several
/// (`setSamples`).
class LaneEmitter {
public:
  static llvm::FailureOr<LaneEmitter> create(mlir::Block &body, mlir::ValueRange captures,
                                             const LaneOptions &options);

  /// The insertion point must dominate all steps and belong to one thread.
  void allocateScratch(mlir::OpBuilder &builder, mlir::Location loc);

  /// `arguments` exclude captures; yielded value i goes to `results[i]`. Rows of a later step are
  /// prefetched between columns of products or, with few registers, with rows of this step.
  void emitStep(mlir::OpBuilder &builder, mlir::Location loc, llvm::ArrayRef<Rows> arguments,
                llvm::ArrayRef<Rows> results, const LaterRows &later = {});

  const BodyPlan &getPlan() const { return plan; }

  /// Returns the largest power of two up to `most` whose accumulators fit into registers.
  int64_t getMaxSamples(int64_t most) const;
  /// Call before `allocateScratch`. Results are bitwise independent of the number.
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
  /// Like emitRowBlock for several samples; operations after the sums are a loop over samples.
  void emitRowsOfSamples(mlir::OpBuilder &builder, mlir::Location loc, const RowUnit &unit,
                         llvm::ArrayRef<Tile> tiles);
  /// Like emitRowBlock, with sums computed one by one and stored in memory. Lanes hold samples.
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
  struct Accumulation {
    MatVecOp product;
    size_t sum;

    mlir::Value getVector() const { return MatVecOp(product).getVector(); }
  };
  /// Indexed by sum of a unit and tile of a block.
  using Accumulators = llvm::SmallVector<llvm::SmallVector<mlir::Value>>;
  /// The result does not depend on the number of samples.
  int64_t getNumPartials(const RowUnit &unit) const;
  void startSums(mlir::OpBuilder &builder, mlir::Location loc, const RowUnit &unit, size_t i,
                 llvm::ArrayRef<Tile> tiles, llvm::MutableArrayRef<RowValues> values,
                 llvm::MutableArrayRef<Accumulators> partials);
  Accumulators accumulateSums(mlir::OpBuilder &builder, mlir::Location loc, const RowUnit &unit,
                              size_t first, size_t end, llvm::ArrayRef<Tile> tiles,
                              llvm::MutableArrayRef<RowValues> values);
  void finishSum(mlir::OpBuilder &builder, mlir::Location loc, const RowUnit &unit, size_t i,
                 const Tile &tile, mlir::Value accumulated, RowValues &values);
  /// Returns how many sums have accumulators at the same time.
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
  struct FetchedRows {
    Rows rows;
    int64_t count;
  };
  void planFetches(llvm::ArrayRef<Rows> laterArguments);
  /// Takes the rows to prefetch during a loop over `numCols` columns.
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
  /// Rows to prefetch, and remaining columns to distribute them over.
  llvm::SmallVector<FetchedRows> fetched;
  int64_t fetchingColumns = 0;
  /// Rows prefetched with rows of this step. With few registers, row blocks have too many column
  /// loops.
  llvm::SmallVector<Rows> fetchedWithRows;
};

void emitFor(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value lower, mlir::Value upper,
             int64_t step, llvm::function_ref<void(mlir::OpBuilder &, mlir::Value)> body);

/// Emits full blocks of `[0, size)`, then the remainder.
void emitBlocks(mlir::OpBuilder &builder, mlir::Location loc, int64_t size, int64_t block,
                llvm::function_ref<void(mlir::OpBuilder &, mlir::Value, int64_t)> emit);

/// A single sample gets no loop and a null `sample`.
void emitForSamples(mlir::OpBuilder &builder, mlir::Location loc, int64_t samples,
                    llvm::function_ref<void(mlir::OpBuilder &, mlir::Value)> body);

void emitTiles(mlir::OpBuilder &builder, mlir::Location loc, const Rows &rows, int64_t from,
               int64_t to, llvm::function_ref<void(mlir::OpBuilder &, const Tile &)> body);

mlir::VectorType getTileType(mlir::Type bodyType, const Tile &tile);

mlir::Value loadEntries(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value array,
                        llvm::ArrayRef<mlir::Value> indices, unsigned dim, int64_t width);

} // namespace bppsa

#endif // BPPSA_LIB_CONVERSION_BPPSATOVECTOR_LANEEMITTER_H
