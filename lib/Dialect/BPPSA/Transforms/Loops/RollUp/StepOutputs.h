//===- StepOutputs.h - replaces outputs of steps ----------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_DIALECT_BPPSA_TRANSFORMS_LOOPS_ROLLUP_STEPOUTPUTS_H
#define BPPSA_LIB_DIALECT_BPPSA_TRANSFORMS_LOOPS_ROLLUP_STEPOUTPUTS_H

#include "StepLoop.h"

namespace bppsa {

class OutputReplacer {
public:
  OutputReplacer(mlir::OpBuilder &builder, const StepMatcher &steps, const StepLoop &loop)
      : builder(builder), steps(steps), loop(loop) {}
  void replace(unsigned tuple);

private:
  bool replaceConcat(mlir::Operation *user);
  /// Returns the operand of `concat` from which on it has all steps, in order or reversed, possibly
  /// with a unit dimension.
  std::optional<size_t> findSteps(mlir::tensor::ConcatOp concat, bool &isUnit,
                                  bool &isReverse) const;
  bool isOperandOf(mlir::tensor::ConcatOp concat, mlir::Value operand, unsigned step,
                   bool isUnit) const;
  mlir::Value createStep(unsigned step);
  /// Moves the step dimension before `axis` and merges it unless `isUnit`; `isFlipped` reverses the
  /// steps.
  mlir::Value createJoined(int64_t axis, bool isUnit, bool isFlipped);

  mlir::OpBuilder &builder;
  const StepMatcher &steps;
  const StepLoop &loop;
  mlir::Value array;
  llvm::ArrayRef<mlir::Value> values;
};

} // namespace bppsa

#endif // BPPSA_LIB_DIALECT_BPPSA_TRANSFORMS_LOOPS_ROLLUP_STEPOUTPUTS_H
