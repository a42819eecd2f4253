//===- StepSlices.cpp - slices that steps read ----------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "StepSlices.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;
using namespace bppsa;

/// Returns the only axis that `slice` does not select completely.
static std::optional<int64_t> getSlicedAxis(tensor::ExtractSliceOp slice) {
  RankedTensorType source = slice.getSourceType();
  if (source.getRank() != slice.getResultType().getRank() || !slice.hasUnitStride())
    return std::nullopt;
  std::optional<int64_t> axis;
  for (int64_t i = 0, e = source.getRank(); i < e; ++i) {
    if (source.getDimSize(i) == slice.getResultType().getDimSize(i) &&
        slice.isDynamicSize(i) == ShapedType::isDynamic(source.getDimSize(i)) &&
        slice.getStaticOffset(i) == 0)
      continue;
    if (axis || slice.isDynamicOffset(i) || slice.isDynamicSize(i) || slice.getStaticSize(i) != 1)
      return std::nullopt;
    axis = i;
  }
  return axis;
}

static Value getReversedSource(Value value, int64_t axis) {
  auto generic = value.getDefiningOp<linalg::GenericOp>();
  if (!generic || generic.getNumDpsInputs() != 0 || generic.getNumResults() != 1 ||
      !generic.getIndexingMapsArray()[0].isIdentity())
    return {};
  auto extract =
      generic.getBody()->getTerminator()->getOperand(0).getDefiningOp<tensor::ExtractOp>();
  if (!extract || extract.getTensor().getType() != value.getType())
    return {};
  int64_t last = cast<RankedTensorType>(value.getType()).getDimSize(axis) - 1;
  for (auto [i, index] : llvm::enumerate(extract.getIndices())) {
    auto difference = index.getDefiningOp<arith::SubIOp>();
    bool isReversed = static_cast<int64_t>(i) == axis;
    if (isReversed && (!difference || getConstantIntValue(difference.getLhs()) != last))
      return {};
    auto own = (isReversed ? difference.getRhs() : index).getDefiningOp<linalg::IndexOp>();
    if (!own || own.getDim() != i)
      return {};
  }
  return extract.getTensor();
}

std::optional<StepSlices> bppsa::getStepSlice(Value value) {
  auto collapse = value.getDefiningOp<tensor::CollapseShapeOp>();
  auto slice = (collapse ? collapse.getSrc() : value).getDefiningOp<tensor::ExtractSliceOp>();
  std::optional<int64_t> axis;
  if (!slice || !(axis = getSlicedAxis(slice)))
    return std::nullopt;
  if (collapse) {
    SmallVector<int64_t> shape(slice.getResultType().getShape());
    shape.erase(shape.begin() + *axis);
    if (collapse.getResultType().getShape() != ArrayRef(shape))
      return std::nullopt;
  }
  return StepSlices{slice.getSource(), *axis, slice.getStaticOffset(*axis), 0, collapse != nullptr};
}

bool bppsa::isSliceAt(const StepSlices &slices, Value value, int64_t offset) {
  std::optional<StepSlices> slice = getStepSlice(value);
  return slice && slice->source == slices.source && slice->axis == slices.axis &&
         slice->first == offset && slice->isCollapsed == slices.isCollapsed;
}

std::optional<StepSlices> bppsa::getOrderedSlices(ArrayRef<Value> values) {
  std::optional<StepSlices> slices = getStepSlice(values[0]);
  std::optional<StepSlices> second =
      slices && values.size() > 1 ? getStepSlice(values[1]) : std::nullopt;
  if (!second || second->first == slices->first)
    return std::nullopt;
  slices->distance = second->first - slices->first;
  for (auto [step, value] : llvm::enumerate(values.drop_front()))
    if (!isSliceAt(*slices, value, slices->first + (step + 1) * slices->distance))
      return std::nullopt;
  return slices;
}

std::optional<StepSlices> bppsa::getStepSlices(ArrayRef<Value> values) {
  std::optional<StepSlices> slices = getOrderedSlices(values);
  if (!slices)
    return std::nullopt;
  if (Value reversed = getReversedSource(slices->source, slices->axis)) {
    int64_t size = cast<RankedTensorType>(reversed.getType()).getDimSize(slices->axis);
    slices->source = reversed;
    slices->first = size - 1 - slices->first;
    slices->distance = -slices->distance;
  }
  return slices;
}
