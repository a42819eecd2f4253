//===- UnitEmitter.h - emits one step of a body for a block -----*- C++ -*-===//
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

#ifndef BPPSA_LIB_CONVERSION_BPPSATOGPU_UNITEMITTER_H
#define BPPSA_LIB_CONVERSION_BPPSATOGPU_UNITEMITTER_H

#include "../Bodies/BodyPlan.h"
#include "Launch.h"

namespace bppsa {

/// A vector in memory: row n is `memref[prefix..., first + n]`.
struct Place {
  mlir::Value memref;
  llvm::SmallVector<mlir::Value, 3> prefix;
  int64_t first = 0;

  mlir::Value load(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value row) const;
  void store(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value value,
             mlir::Value row) const;
  /// These rows without the first `count`.
  Place dropFront(int64_t count) const { return {memref, prefix, first + count}; }
};

class UnitEmitter {
public:
  /// Plans `body`, the last arguments of which stand for `captures`. Fails, after a
  /// diagnostic, where it has no row-wise evaluation or more rows than a block has
  /// threads.
  static llvm::FailureOr<UnitEmitter> create(mlir::Block &body, mlir::ValueRange captures);

  /// Threads that a block needs.
  int64_t getNumThreads() const { return numThreads; }
  /// The shared arrays that a step needs.
  llvm::SmallVector<mlir::MemRefType> getSharedTypes() const;

  /// Prepares the steps of one thread, inside a launch: finds its row and loads its
  /// rows of captured matrices. `shared` are arrays of the types above.
  void begin(mlir::OpBuilder &builder, mlir::Location loc, const LaunchedThread &thread,
             mlir::ValueRange shared);

  /// Emits one step. `arguments` are the places of the arguments that are not
  /// captures; yielded value i is written to each of `results[i]`, the first of
  /// which is where later parts of the step may read it. Does not end with a
  /// barrier.
  void emitStep(mlir::OpBuilder &builder, mlir::Location loc, llvm::ArrayRef<Place> arguments,
                llvm::ArrayRef<llvm::SmallVector<Place, 2>> results);

private:
  using RowValues = llvm::DenseMap<mlir::Value, mlir::Value>;

  UnitEmitter(BodyPlan plan, mlir::Block &body, mlir::ValueRange captures);
  llvm::LogicalResult chooseThreads();
  /// Columns of the part of a row that one thread multiplies.
  int64_t getPartColumns(MatVecOp product) const;
  bool needsScratch(mlir::Value value) const;
  void loadCapturedRows(mlir::OpBuilder &builder, mlir::Location loc);
  mlir::Value loadMatrixPart(mlir::OpBuilder &builder, mlir::Location loc, MatVecOp product);
  mlir::Value loadMatrixEntry(mlir::OpBuilder &builder, mlir::Location loc, MatVecOp product,
                              mlir::Value row, mlir::Value column);
  void emitUnit(mlir::OpBuilder &builder, mlir::Location loc, const RowUnit &unit);
  mlir::Value emitProductSum(mlir::OpBuilder &builder, mlir::Location loc, const ProductSum &sum,
                             mlir::Value row);
  void accumulateFromRegisters(mlir::OpBuilder &builder, mlir::Location loc, MatVecOp product,
                               llvm::MutableArrayRef<mlir::Value> partials);
  void accumulateFromMemory(mlir::OpBuilder &builder, mlir::Location loc, MatVecOp product,
                            mlir::Value row, llvm::MutableArrayRef<mlir::Value> partials);
  mlir::Value addAcrossThreads(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value value);
  mlir::Value getRow(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value value,
                     const RowUnit &unit, mlir::Value row, RowValues &values);
  mlir::Value emitInsertedRow(mlir::OpBuilder &builder, mlir::Location loc,
                              mlir::vector::InsertStridedSliceOp op, mlir::Value row);
  mlir::Value emitConstant(mlir::OpBuilder &builder, mlir::Location loc, mlir::arith::ConstantOp op,
                           mlir::Value row);
  llvm::SmallVector<Place> getHomes(mlir::Value value) const;
  Place getHome(mlir::Value value) const;

  BodyPlan plan;
  mlir::Block *body;
  unsigned firstCapture;
  llvm::SmallVector<mlir::Value> captures;
  /// Threads that share a row, and of a block.
  int64_t parts = 1, numThreads = kWarpThreads;
  bool inRegisters = true;
  /// Values with a shared array of their own.
  llvm::SmallVector<mlir::Value> scratchValues;

  // Of the thread that is emitted.
  mlir::Value unitIndex, part;
  llvm::DenseMap<mlir::Value, Place> scratch;
  /// The element of each captured vector that a unit of so many rows reads.
  llvm::DenseMap<std::pair<mlir::Value, int64_t>, mlir::Value> capturedRows;
  /// The part of a matrix row that each product multiplies, as a vector.
  llvm::DenseMap<mlir::Operation *, mlir::Value> matrixParts;
  llvm::ArrayRef<Place> arguments;
  llvm::ArrayRef<llvm::SmallVector<Place, 2>> results;
};

} // namespace bppsa

#endif // BPPSA_LIB_CONVERSION_BPPSATOGPU_UNITEMITTER_H
