//===- LaneEmitter.h - emits one step of a body -----------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_CONVERSION_BPPSATOVECTOR_LANEEMITTER_H
#define BPPSA_LIB_CONVERSION_BPPSATOVECTOR_LANEEMITTER_H

#include "BodyPlan.h"

namespace bppsa {

/// How values map to the registers of the target.
struct LaneOptions {
  /// Samples in one vector.
  int64_t lanes = 16;
  /// Vectors of `lanes` values that the register file holds.
  int64_t registers = 32;

  /// Registers left for accumulators beside a vector row and a matrix entry.
  int64_t getNumAccumulators() const { return std::max<int64_t>(1, registers * 3 / 4); }
};

/// Rows of lanes in memory: row n is `memref[prefix..., first + n, 0 : lanes]`.
struct Rows {
  Rows() = default;
  Rows(mlir::Value memref, llvm::ArrayRef<mlir::Value> prefix = {}, int64_t first = 0)
      : memref(memref), prefix(prefix), first(first) {}

  mlir::Value memref;
  llvm::SmallVector<mlir::Value, 3> prefix;
  int64_t first = 0;

  mlir::Value load(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value row) const;
  void store(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value vector,
             mlir::Value row) const;
  /// The vector type of one row.
  mlir::VectorType getRowType() const;
  /// These rows without the first `count`.
  Rows dropFront(int64_t count) const;
};

/// Emits a body for the samples of one vector and one step.
class LaneEmitter {
public:
  /// Plans `body`; fails after a diagnostic (see BodyPlan::create).
  static llvm::FailureOr<LaneEmitter> create(mlir::Block &body, mlir::ValueRange captures,
                                             const LaneOptions &options);

  /// Allocates, at the insertion point, memory for the values between loops.
  /// The point must dominate every emitted step, and belong to one thread.
  void allocateScratch(mlir::OpBuilder &builder, mlir::Location loc);

  /// Emits one step. `arguments` are the rows of the arguments that are not
  /// captures; the rows of yielded value i are written to `results[i]`.
  void emitStep(mlir::OpBuilder &builder, mlir::Location loc, llvm::ArrayRef<Rows> arguments,
                llvm::ArrayRef<Rows> results);

  const BodyPlan &getPlan() const { return plan; }

private:
  using RowValues = llvm::DenseMap<mlir::Value, mlir::Value>;

  LaneEmitter(BodyPlan plan, mlir::Block &body, mlir::ValueRange captures,
              const LaneOptions &options);

  void emitUnit(mlir::OpBuilder &builder, mlir::Location loc, const RowUnit &unit);
  void emitInsert(mlir::OpBuilder &builder, mlir::Location loc,
                  mlir::vector::InsertStridedSliceOp op);
  void emitRowBlock(mlir::OpBuilder &builder, mlir::Location loc, const RowUnit &unit,
                    mlir::Value firstRow, int64_t count);
  llvm::SmallVector<RowValues> emitProductSums(mlir::OpBuilder &builder, mlir::Location loc,
                                               const RowUnit &unit,
                                               llvm::ArrayRef<mlir::Value> rows);
  void emitRow(mlir::OpBuilder &builder, mlir::Location loc, const RowUnit &unit, mlir::Value row,
               RowValues &values);
  mlir::Value getRow(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value value,
                     const RowUnit &unit, mlir::Value row, RowValues &values);
  mlir::Value emitConstant(mlir::OpBuilder &builder, mlir::Location loc, mlir::arith::ConstantOp op,
                           mlir::Value row);
  mlir::Value loadMatrix(mlir::OpBuilder &builder, mlir::Location loc, MatVecOp op, mlir::Value row,
                         mlir::Value col);
  Rows getHome(mlir::Value value) const;
  llvm::SmallVector<Rows> getHomes(mlir::Value value) const;
  mlir::VectorType getRowType(mlir::Type bodyType) const;

  BodyPlan plan;
  mlir::Block *body;
  LaneOptions options;
  unsigned firstCapture;
  llvm::SmallVector<mlir::Value> captures;
  llvm::DenseMap<mlir::Value, Rows> scratch;
  llvm::ArrayRef<Rows> arguments, results;
};

/// Emits `body(iv)` for iv in [lower, upper) with a constant step.
void emitFor(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value lower, mlir::Value upper,
             int64_t step, llvm::function_ref<void(mlir::OpBuilder &, mlir::Value)> body);

/// An index constant.
mlir::Value getIndex(mlir::OpBuilder &builder, mlir::Location loc, int64_t value);
/// `value + offset`, folded where it can be.
mlir::Value addIndex(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value value,
                     int64_t offset);

} // namespace bppsa

#endif // BPPSA_LIB_CONVERSION_BPPSATOVECTOR_LANEEMITTER_H
