//===- TensorList.cpp - values of ONNX sequence types ---------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "TensorList.h"

using namespace mlir;
using namespace bppsa;

MaybeExpr ListPart::getCount(MLIRContext *context) const {
  switch (kind) {
  case Element:
    return getAffineConstantExpr(1, context);
  case Stack:
    return tensor.dims.front().size;
  case Hidden:
    return hiddenCount;
  }
  llvm_unreachable("a switch over all kinds");
}

MaybeExpr TensorList::getLength(MLIRContext *context) const {
  MaybeExpr length = getAffineConstantExpr(0, context);
  for (const ListPart &part : parts) {
    MaybeExpr count = part.getCount(context);
    length = length && count ? addExprs(*length, *count) : std::nullopt;
  }
  return length;
}

std::optional<int64_t> TensorList::getConstantLength(MLIRContext *context) const {
  MaybeExpr length = getLength(context);
  return length ? getConstant(*length) : std::nullopt;
}

Tensor bppsa::makeList(TensorList list) {
  Tensor tensor;
  tensor.list = std::make_shared<const TensorList>(std::move(list));
  return tensor;
}

Tensor bppsa::makeListElement(GraphBuilder &graph, const Tensor &stack, AffineExpr index) {
  return graph.makeSqueeze(graph.makeSlice(stack, 0, index, graph.getExpr(1)), {0});
}

FailureOr<SmallVector<Tensor>> bppsa::getListElements(GraphBuilder &graph,
                                                      ArrayRef<ListPart> parts) {
  SmallVector<Tensor> elements;
  for (const ListPart &part : parts) {
    MaybeExpr count = part.getCount(graph.getContext());
    std::optional<int64_t> constant = count ? getConstant(*count) : std::nullopt;
    if (!constant || part.kind == ListPart::Hidden || *constant > kMaxListElements)
      return failure();
    if (part.kind == ListPart::Element) {
      elements.push_back(part.tensor);
      continue;
    }
    for (int64_t i = 0; i < *constant; ++i)
      elements.push_back(makeListElement(graph, part.tensor, graph.getExpr(i)));
  }
  return elements;
}

FailureOr<Tensor> bppsa::stackList(GraphBuilder &graph, ArrayRef<ListPart> parts) {
  SmallVector<Tensor> stacks;
  for (const ListPart &part : parts) {
    if (part.kind == ListPart::Hidden)
      return failure();
    stacks.push_back(part.kind == ListPart::Stack ? part.tensor
                                                  : graph.makeUnsqueeze(part.tensor, {0}));
    if (stacks.back().getRank() != stacks.front().getRank() ||
        stacks.back().elementType != stacks.front().elementType)
      return failure();
  }
  return stacks.empty() ? FailureOr<Tensor>(failure()) : graph.makeConcat(stacks, 0);
}
