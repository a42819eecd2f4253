//===- RowArrays.h - arrays of samples and of rows ---------------*- C++ -*-===//
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

/// Makes arrays `[S, R, N]` of arrays of samples, and the other way round.
class RowArrays {
public:
  RowArrays(mlir::OpBuilder &b, mlir::Location loc, const SequenceSchedule &schedule)
      : b(b), loc(loc), schedule(schedule) {}

  /// The steps of `sequence`, `[T, B, N]`, and zeros where there is none.
  mlir::Value join(mlir::Value sequence);
  /// The state `[B, N]` before the first step of each sequence, at that step, else zeros.
  mlir::Value joinInitial(mlir::Value initial, bool reverse);
  /// `[S, R, 1]`: 1 where a sequence goes on, 0 at its first step and where none is.
  mlir::Value makeKeep(bool reverse);
  /// Slots `[offset, offset + n)` of the trajectory that one loop over all samples would have: an
  /// array like `slots`, `[n, B, N]`, from the states `[S, R, N]` after each step.
  mlir::Value split(mlir::OpBuilder &builder, mlir::Value states, mlir::Value initial,
                    mlir::OpFoldResult offset, mlir::OpFoldResult count, bool reverse);

private:
  using Element = llvm::function_ref<mlir::Value(mlir::OpBuilder &, mlir::ValueRange in,
                                                 llvm::ArrayRef<mlir::Value> indices)>;

  /// An array of `sizes` whose elements `element` makes of those of `inputs`.
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
  /// Whether the slot `in` = (sequence, step) holds a first step, in the order of the loop.
  mlir::Value isFirst(mlir::OpBuilder &nested, mlir::ValueRange in, bool reverse);

  mlir::OpBuilder &b;
  mlir::Location loc;
  const SequenceSchedule &schedule;
};

} // namespace bppsa

#endif // BPPSA_LIB_DIALECT_BPPSA_TRANSFORMS_LOOPS_ROWARRAYS_H
