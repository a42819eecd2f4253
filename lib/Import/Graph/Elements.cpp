//===- Elements.cpp - shape ops on known elements -------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "Elements.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace bppsa;

SmallVector<int64_t> bppsa::getStaticShape(const Tensor &tensor) {
  return llvm::map_to_vector(tensor.dims, [](const Dim &dim) { return *getConstant(dim.size); });
}

std::optional<int64_t> bppsa::countTrackedElements(ArrayRef<int64_t> shape) {
  constexpr int64_t maxElements = 4096;
  int64_t elements = 1;
  for (int64_t size : shape)
    if (llvm::MulOverflow(elements, size, elements) || elements > maxElements)
      return std::nullopt;
  return elements;
}

void bppsa::forEachIndex(ArrayRef<int64_t> shape, function_ref<void(ArrayRef<int64_t>)> visit) {
  SmallVector<int64_t> index(shape.size(), 0);
  if (llvm::is_contained(shape, 0))
    return;
  while (true) {
    visit(index);
    int64_t axis = shape.size() - 1;
    while (axis >= 0 && ++index[axis] == shape[axis])
      index[axis--] = 0;
    if (axis < 0)
      return;
  }
}

int64_t bppsa::getPosition(ArrayRef<int64_t> index, ArrayRef<int64_t> shape) {
  int64_t position = 0;
  index = index.take_back(shape.size());
  for (auto [i, size] : llvm::zip(index, shape))
    position = position * size + (size == 1 ? 0 : i);
  return position;
}

std::optional<Tensor>
bppsa::mapElements(GraphBuilder &graph, const Tensor &source, ArrayRef<int64_t> shape,
                   function_ref<SmallVector<int64_t>(ArrayRef<int64_t>)> map) {
  if (!countTrackedElements(shape))
    return std::nullopt;
  SmallVector<int64_t> sourceShape = getStaticShape(source);
  SmallVector<AffineExpr> elements;
  forEachIndex(shape, [&](ArrayRef<int64_t> index) {
    elements.push_back((*source.elements)[getPosition(map(index), sourceShape)]);
  });
  return graph.makeElements(source.elementType, shape, elements);
}

std::optional<Tensor>
bppsa::broadcastElements(GraphBuilder &graph, Type elementType, ArrayRef<Tensor> operands,
                         function_ref<MaybeExpr(ArrayRef<AffineExpr>)> evaluate) {
  SmallVector<Dim> dims;
  for (const Tensor &operand : operands) {
    FailureOr<SmallVector<Dim>> common = graph.broadcast(dims, operand.dims);
    if (failed(common))
      return std::nullopt;
    dims = *common;
  }
  SmallVector<int64_t> shape =
      llvm::map_to_vector(dims, [](const Dim &dim) { return *getConstant(dim.size); });
  if (!countTrackedElements(shape))
    return std::nullopt;
  SmallVector<AffineExpr> elements;
  bool isKnown = true;
  forEachIndex(shape, [&](ArrayRef<int64_t> index) {
    SmallVector<AffineExpr> arguments = llvm::map_to_vector(operands, [&](const Tensor &operand) {
      return (*operand.elements)[getPosition(index, getStaticShape(operand))];
    });
    MaybeExpr element = isKnown ? evaluate(arguments) : std::nullopt;
    isKnown &= element.has_value();
    elements.push_back(element.value_or(AffineExpr()));
  });
  if (!isKnown)
    return std::nullopt;
  return graph.makeElements(elementType, shape, elements);
}
