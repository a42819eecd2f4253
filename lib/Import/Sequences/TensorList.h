//===- TensorList.h - values of ONNX sequence types -------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// Lists exist only during import. List operations become slices, concatenations and loop sequences.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_IMPORT_SEQUENCES_TENSORLIST_H
#define BPPSA_LIB_IMPORT_SEQUENCES_TENSORLIST_H

#include "../Graph/GraphBuilder.h"

namespace bppsa {

/// The number of elements that the body of a loop reads at each end of a list before a step.
struct ListReads {
  int64_t first = 0, last = 0;
};

/// Consecutive elements of a list.
struct ListPart {
  enum Kind {
    /// One element: `tensor`.
    Element,
    /// The slices of `tensor` along its first axis.
    Stack,
    /// Elements that cannot be read: appended by earlier steps of a loop, or in an array of
    /// symbolic length outside a loop.
    Hidden,
  };

  Kind kind;
  Tensor tensor;
  /// Records requests for hidden elements; null if a request cannot help.
  std::shared_ptr<ListReads> reads = nullptr;
  /// For hidden elements: their number, if known.
  MaybeExpr hiddenCount = std::nullopt;

  static ListPart getElement(Tensor tensor) { return {Element, std::move(tensor)}; }
  static ListPart getStack(Tensor tensor) { return {Stack, std::move(tensor)}; }

  MaybeExpr getCount(mlir::MLIRContext *context) const;
};

struct TensorList {
  llvm::SmallVector<ListPart> parts;

  /// Returns the number of elements, or nullopt if parts are hidden.
  MaybeExpr getLength(mlir::MLIRContext *context) const;
  std::optional<int64_t> getConstantLength(mlir::MLIRContext *context) const;
};

Tensor makeList(TensorList list);

Tensor makeListElement(GraphBuilder &graph, const Tensor &stack, mlir::AffineExpr index);

/// Fails if the number of elements is not a constant or exceeds `kMaxListElements`.
mlir::FailureOr<llvm::SmallVector<Tensor>> getListElements(GraphBuilder &graph,
                                                           llvm::ArrayRef<ListPart> parts);
constexpr int64_t kMaxListElements = 4096;

/// Stacks the elements along a new first axis. Fails if shapes differ, parts are hidden or the list
/// is empty.
mlir::FailureOr<Tensor> stackList(GraphBuilder &graph, llvm::ArrayRef<ListPart> parts);

} // namespace bppsa

#endif // BPPSA_LIB_IMPORT_SEQUENCES_TENSORLIST_H
