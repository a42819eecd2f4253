//===- TensorList.h - values of ONNX's sequence types -----------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// Lists exist only during the import. What a graph builds, extends and reads
// becomes slices, concatenations and the sequences of loops.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_IMPORT_SEQUENCES_TENSORLIST_H
#define BPPSA_LIB_IMPORT_SEQUENCES_TENSORLIST_H

#include "../Graph/GraphBuilder.h"

namespace bppsa {

/// How many elements at both ends of a list, as it is before a step of a loop, the body reads.
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
    /// Elements that cannot be read: those that a loop has appended in its earlier steps, or an
    /// array of symbolic length outside of a loop.
    Hidden,
  };

  Kind kind;
  Tensor tensor;
  /// Of hidden elements: what to ask for where one of them is needed; null where nothing helps.
  std::shared_ptr<ListReads> reads = nullptr;
  /// Of hidden elements: their number, where it is known.
  MaybeExpr hiddenCount = std::nullopt;

  static ListPart getElement(Tensor tensor) { return {Element, std::move(tensor)}; }
  static ListPart getStack(Tensor tensor) { return {Stack, std::move(tensor)}; }

  /// The number of elements, where it is known.
  MaybeExpr getCount(mlir::MLIRContext *context) const;
};

struct TensorList {
  llvm::SmallVector<ListPart> parts;

  /// The number of elements; nothing where parts are hidden.
  MaybeExpr getLength(mlir::MLIRContext *context) const;
  /// The same where it is a constant.
  std::optional<int64_t> getConstantLength(mlir::MLIRContext *context) const;
};

/// A list as a value of the graph.
Tensor makeList(TensorList list);

/// Element `index`, an expression, of the stack `tensor`.
Tensor makeListElement(GraphBuilder &graph, const Tensor &stack, mlir::AffineExpr index);

/// Every element; fails where their number is no constant, or more than `kMaxListElements`.
mlir::FailureOr<llvm::SmallVector<Tensor>> getListElements(GraphBuilder &graph,
                                                           llvm::ArrayRef<ListPart> parts);
constexpr int64_t kMaxListElements = 4096;

/// The elements as slices of one array along a new first axis; fails where they have different
/// shapes, parts are hidden or there is no element.
mlir::FailureOr<Tensor> stackList(GraphBuilder &graph, llvm::ArrayRef<ListPart> parts);

} // namespace bppsa

#endif // BPPSA_LIB_IMPORT_SEQUENCES_TENSORLIST_H
