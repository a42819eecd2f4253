//===- StepOutputs.h - users of the values of steps -------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_DIALECT_BPPSA_TRANSFORMS_LOOPS_ROLLUP_STEPOUTPUTS_H
#define BPPSA_LIB_DIALECT_BPPSA_TRANSFORMS_LOOPS_ROLLUP_STEPOUTPUTS_H

#include "StepLoop.h"

namespace bppsa {

/// Makes the users of values of steps read the arrays of a loop.
class OutputReplacer {
public:
  OutputReplacer(mlir::OpBuilder &builder, const StepMatcher &steps, const StepLoop &loop)
      : builder(builder), steps(steps), loop(loop) {}
  void replace(unsigned tuple);

private:
  bool replaceConcat(mlir::Operation *user);
  /// The number of the first operand of `concat` that is a value of a step, or has one with a unit
  /// dimension, if all of the steps follow in order, or in reverse order.
  std::optional<size_t> findSteps(mlir::tensor::ConcatOp concat, bool &isUnit,
                                  bool &isReverse) const;
  bool isOperandOf(mlir::tensor::ConcatOp concat, mlir::Value operand, unsigned step,
                   bool isUnit) const;
  mlir::Value createStep(unsigned step);
  /// The array with its steps before dimension `axis` of a value, as one dimension with it where
  /// the values have it; in reverse order if it `isFlipped`.
  mlir::Value createJoined(int64_t axis, bool isUnit, bool isFlipped);

  mlir::OpBuilder &builder;
  const StepMatcher &steps;
  const StepLoop &loop;
  mlir::Value array;
  llvm::ArrayRef<mlir::Value> values;
};

} // namespace bppsa

#endif // BPPSA_LIB_DIALECT_BPPSA_TRANSFORMS_LOOPS_ROLLUP_STEPOUTPUTS_H
