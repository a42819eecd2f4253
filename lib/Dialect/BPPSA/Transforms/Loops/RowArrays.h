//===- RowArrays.h - conversion of samples and rows -------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_DIALECT_BPPSA_TRANSFORMS_LOOPS_ROWARRAYS_H
#define BPPSA_LIB_DIALECT_BPPSA_TRANSFORMS_LOOPS_ROWARRAYS_H

#include "SequenceSchedule.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/AffineMap.h"

namespace bppsa {

/// Converts arrays of samples to arrays of rows, `[S, R, N]`, and back.
class RowArrays {
public:
  RowArrays(mlir::OpBuilder &b, mlir::Location loc, const SequenceSchedule &schedule)
      : b(b), loc(loc), schedule(schedule) {}

  /// `sequence` is `[T, B, N]`. Unused slots are zero.
  mlir::Value join(mlir::Value sequence);
  /// Places `initial`, `[B, N]`, at the first step of each sequence; other slots are zero.
  mlir::Value joinInitial(mlir::Value initial, bool reverse);
  /// Creates `[S, R, 1]`: 0 at first steps and in unused slots, else 1.
  mlir::Value createKeepMask(bool reverse);
  /// Returns slots `[offset, offset + count)`, `[count, B, N]`, of the trajectory over all samples,
  /// from states `[S, R, N]` after each step.
  mlir::Value split(mlir::OpBuilder &builder, mlir::Value states, mlir::Value initial,
                    mlir::OpFoldResult offset, mlir::OpFoldResult count, bool reverse);

private:
  using Element = llvm::function_ref<mlir::Value(mlir::OpBuilder &, mlir::ValueRange in,
                                                 llvm::ArrayRef<mlir::Value> indices)>;

  /// `element` computes each element from elements of `inputs`.
  mlir::Value generate(mlir::OpBuilder &builder, llvm::ArrayRef<mlir::OpFoldResult> sizes,
                       mlir::ValueRange inputs, llvm::ArrayRef<mlir::AffineMap> maps,
                       Element element);
  mlir::Value generateRows(mlir::OpFoldResult features, Element element);
  mlir::Value constant(mlir::OpBuilder &nested, int64_t value) {
    return mlir::arith::ConstantIndexOp::create(nested, loc, value);
  }
  mlir::Value zero(mlir::OpBuilder &nested) {
    return mlir::arith::ConstantOp::create(nested, loc, nested.getF32FloatAttr(0));
  }
  mlir::Value compare(mlir::OpBuilder &nested, mlir::arith::CmpIPredicate predicate, mlir::Value x,
                      mlir::Value y) {
    return mlir::arith::CmpIOp::create(nested, loc, predicate, x, y);
  }
  /// True if slot `in` = (sequence, step) is a first step in loop order.
  mlir::Value isFirst(mlir::OpBuilder &nested, mlir::ValueRange in, bool reverse);

  mlir::OpBuilder &b;
  mlir::Location loc;
  const SequenceSchedule &schedule;
};

} // namespace bppsa

#endif // BPPSA_LIB_DIALECT_BPPSA_TRANSFORMS_LOOPS_ROWARRAYS_H
