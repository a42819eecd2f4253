//===- BodyRowEmitter.h - emits one step of a body for a block -----*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// A block of threads evaluates a body for one sample: a thread has one row, a
// hidden unit, of every value. The units of a BodyPlan run one after the other;
// where all rows of a value are needed, as by a product, it is in shared memory
// and a barrier stands between writing and reading it. The rows of captured
// matrices that a thread multiplies stay in its registers for all steps where
// they fit: then several threads may share a row, each with a part of its
// columns, and add up by shuffles.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_CONVERSION_BPPSATOGPU_STEPS_BODYROWEMITTER_H
#define BPPSA_LIB_CONVERSION_BPPSATOGPU_STEPS_BODYROWEMITTER_H

#include "../../GPULaunches/RowProduct.h"
#include "RowEvaluator.h"

namespace bppsa {

/// Rows behind the last one that the shared arrays of a step have: threads of the last warp
/// that have no row store to them, which takes no branch.
inline constexpr int64_t kSpareRows = kWarpThreads;
/// Rows of such an array, with which arrays that follow each other begin at multiples of 16 bytes.
inline int64_t padRows(int64_t rows) { return llvm::alignTo(rows, kLoadedTogether) + kSpareRows; }

/// What a body yields, added up over steps in the registers of the threads: a value,
/// or its outer products with a vector, which is called its factor.
struct UnitSum {
  /// Which of the yielded values.
  unsigned yielded;
  /// Which factor, kNoFactor for none, and the elements of that.
  int64_t factor, columns;
};

class BodyRowEmitter : private RowEvaluator {
public:
  /// Plans `body`, the last arguments of which stand for `captures`, for a block of `mapping`.
  /// Fails, after a diagnostic, where it has no row-wise evaluation.
  static llvm::FailureOr<BodyRowEmitter> create(mlir::Block &body, mlir::ValueRange captures,
                                                GPUMappingAttr mapping,
                                                llvm::ArrayRef<UnitSum> sums = {});

  /// Threads that a block needs.
  int64_t getNumThreads() const { return numThreads; }
  /// Registers for sums that a thread needs.
  int64_t getNumSumRegisters() const;
  /// The shared arrays that a step needs; those of its results have padRows rows too.
  llvm::SmallVector<mlir::MemRefType> getSharedTypes() const;

  /// Prepares the steps of one thread, inside a launch: finds its row and loads its
  /// rows of captured matrices. `shared` are arrays of the types above.
  void begin(mlir::OpBuilder &builder, mlir::Location loc, const LaunchedThread &thread,
             mlir::ValueRange shared);

  using StepPart = llvm::function_ref<void(mlir::OpBuilder &)>;
  /// Emits one step. `arguments` are the places of the arguments that are not
  /// captures; yielded value i is written to each of `results[i]`, the first of
  /// which is where later parts of the step may read it. Does not end with a
  /// barrier. `running` are this thread's elements of the sums, `factors` the places
  /// of the vectors that are multiplied; returns the elements after the step. What
  /// `whileWaiting` emits stands where the step waits for what it has read.
  llvm::SmallVector<mlir::Value>
  emitStep(mlir::OpBuilder &builder, mlir::Location loc, llvm::ArrayRef<Place> arguments,
           llvm::ArrayRef<llvm::SmallVector<Place, 2>> results, llvm::ArrayRef<Place> factors = {},
           mlir::ValueRange running = {}, StepPart whileWaiting = nullptr);

  /// Gives those of `running` that this thread answers for to
  /// `body(sum, row, column, value)`; a sum without a factor has column 0.
  using SumElement = llvm::function_ref<void(mlir::OpBuilder &, size_t sum, mlir::Value row,
                                             mlir::Value column, mlir::Value value)>;
  void forEachSum(mlir::OpBuilder &builder, mlir::Location loc, mlir::ValueRange running,
                  SumElement body);

private:
  BodyRowEmitter(BodyPlan plan, mlir::Block &body, mlir::ValueRange captures,
                 GPUMappingAttr mapping, llvm::ArrayRef<UnitSum> sums);
  /// Columns of a row, distributed over the threads that share it.
  BlockCyclicLayout layout(int64_t columns) const { return BlockCyclicLayout(columns, parts); }
  RowProduct getRowProduct(MatVecOp product) const;
  bool needsScratch(mlir::Value value) const;
  void emitUnit(mlir::OpBuilder &builder, mlir::Location loc, const RowUnit &unit);
  int64_t getCapacityAhead() const;
  int64_t loadAhead(mlir::OpBuilder &builder, const RowUnit &unit, int64_t capacity);
  /// Whether a step writes vectors of another number of rows than `rows` to `array`, too: other
  /// threads have no row of these, and its spare rows go by lanes.
  bool holdsOtherRows(mlir::Value array, int64_t rows) const;
  void emitStores(mlir::OpBuilder &builder, mlir::Location loc, const RowUnit &unit,
                  llvm::ArrayRef<std::pair<Place, mlir::Value>> stores, mlir::Value row);
  mlir::Value emitProductSum(mlir::OpBuilder &builder, mlir::Location loc, const ProductSum &sum,
                             mlir::Value row);
  void accumulateFromRegisters(mlir::OpBuilder &builder, MatVecOp product,
                               llvm::MutableArrayRef<mlir::Value> partials);
  mlir::Value addAcrossThreads(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value value);
  mlir::Value loadOfSum(mlir::OpBuilder &builder, mlir::Location loc, const UnitSum &sum, int64_t i,
                        llvm::ArrayRef<Place> factors);
  void loadOfSums(mlir::OpBuilder &builder, mlir::Location loc, llvm::ArrayRef<Place> factors,
                  int64_t capacity);
  llvm::SmallVector<mlir::Value> addToSums(mlir::OpBuilder &builder, mlir::Location loc,
                                           llvm::ArrayRef<Place> factors, mlir::ValueRange running);
  mlir::Value getYielded(const UnitSum &sum) const;
  mlir::Value loadRow(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value value,
                      mlir::Value row) override {
    return getHome(value).load(builder, loc, row);
  }
  mlir::Value loadOtherRow(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value value,
                           mlir::Value row) override {
    return getHome(value).load(builder, loc, row);
  }
  llvm::SmallVector<Place> getHomes(mlir::Value value) const;
  Place getHome(mlir::Value value) const;

  /// Threads that share a row, and of a block.
  int64_t parts, numThreads;
  bool inRegisters;
  llvm::SmallVector<UnitSum> sums;
  /// Values with a shared array of their own.
  llvm::SmallVector<mlir::Value> scratchValues;

  // Of the thread that is emitted.
  mlir::Value unitIndex, part;
  llvm::DenseMap<mlir::Value, Place> scratch;
  /// The part of a matrix row that each product multiplies.
  llvm::DenseMap<mlir::Operation *, llvm::SmallVector<mlir::Value>> matrixParts;
  /// Vectors of the unit that is emitted: the elements that this thread multiplies.
  llvm::DenseMap<mlir::Value, llvm::SmallVector<mlir::Value>> loadedFactors;
  /// Elements of factors of sums, by factor and position in this thread's part.
  llvm::DenseMap<std::pair<int64_t, int64_t>, mlir::Value> loadedOfSums;
  llvm::ArrayRef<Place> arguments;
  llvm::ArrayRef<llvm::SmallVector<Place, 2>> results;
  /// This thread's rows of what the step has yielded.
  RowValues yieldedRows;
};

} // namespace bppsa

#endif // BPPSA_LIB_CONVERSION_BPPSATOGPU_STEPS_BODYROWEMITTER_H
