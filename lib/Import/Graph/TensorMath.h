//===- TensorMath.h - arithmetic on whole tensors ---------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_IMPORT_GRAPH_TENSORMATH_H
#define BPPSA_LIB_IMPORT_GRAPH_TENSORMATH_H

#include "Formula.h"
#include "GraphBuilder.h"

namespace bppsa {

/// Applies `formula` elementwise to `operands`, float tensors whose shapes are known to be
/// broadcastable.
Tensor makeFormula(GraphBuilder &graph, llvm::ArrayRef<Tensor> operands,
                   llvm::function_ref<mlir::Value(const Formula &, mlir::ValueRange)> formula);

template <typename OpTy> Tensor combine(GraphBuilder &graph, const Tensor &a, const Tensor &b) {
  return makeFormula(graph, {a, b}, [](const Formula &f, mlir::ValueRange arguments) {
    return OpTy::create(f.b, f.loc, arguments[0], arguments[1]).getResult();
  });
}

template <typename OpTy> Tensor apply(GraphBuilder &graph, const Tensor &operand) {
  return makeFormula(graph, operand, [](const Formula &f, mlir::ValueRange arguments) {
    return OpTy::create(f.b, f.loc, arguments[0]).getResult();
  });
}

Tensor makeSumOf(GraphBuilder &graph, const Tensor &operand, llvm::ArrayRef<int64_t> axes,
                 llvm::function_ref<mlir::Value(const Formula &, mlir::Value)> formula);

mlir::FailureOr<Tensor> makeMean(GraphBuilder &graph, const Tensor &operand,
                                 llvm::ArrayRef<int64_t> axes);

/// Returns the Euclidean norm over `axes`. Its derivative at zero is zero.
Tensor makeNorm(GraphBuilder &graph, const Tensor &operand, llvm::ArrayRef<int64_t> axes);

/// Returns the index along `axis` of the first or last extremum. A NaN is larger than any number.
Tensor makeArgExtremum(GraphBuilder &graph, const Tensor &operand, int64_t axis, bool isMax,
                       bool isLast);

} // namespace bppsa

#endif // BPPSA_LIB_IMPORT_GRAPH_TENSORMATH_H
