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

/// `formula` of the elements of `operands`, floats whose shapes are known to fit.
Tensor makeFormula(GraphBuilder &graph, llvm::ArrayRef<Tensor> operands,
                   llvm::function_ref<mlir::Value(const Formula &, mlir::ValueRange)> formula);

/// An elementwise op of two operands whose shapes are known to fit.
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

/// The sum of `formula` of the elements of `operand` over `axes`, which stay as ones.
Tensor makeSumOf(GraphBuilder &graph, const Tensor &operand, llvm::ArrayRef<int64_t> axes,
                 llvm::function_ref<mlir::Value(const Formula &, mlir::Value)> formula);

/// The sum over `axes`, which stay as ones, divided by the number of elements.
mlir::FailureOr<Tensor> makeMean(GraphBuilder &graph, const Tensor &operand,
                                 llvm::ArrayRef<int64_t> axes);

/// The square root of the sum of squares over `axes`; its derivative where that is zero is zero.
Tensor makeNorm(GraphBuilder &graph, const Tensor &operand, llvm::ArrayRef<int64_t> axes);

/// For each position of the other axes, the index along `axis`, which stays as one, of the first
/// largest (or smallest) element, or the last one. A NaN is larger than any number.
Tensor makeArgExtremum(GraphBuilder &graph, const Tensor &operand, int64_t axis, bool isMax,
                       bool isLast);

} // namespace bppsa

#endif // BPPSA_LIB_IMPORT_GRAPH_TENSORMATH_H
