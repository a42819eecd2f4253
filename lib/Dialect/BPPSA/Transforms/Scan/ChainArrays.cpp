//===- ChainArrays.cpp - arrays of a chain and their windows --------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "ChainArrays.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include <numeric>

using namespace mlir;
using namespace bppsa;

ChainArrays::ChainArrays(OpBuilder &builder, ChainOp chain)
    : builder(builder), loc(chain.getLoc()), chain(chain) {
  Value saved = chain.getSaved().front();
  numSteps = builder.createOrFold<tensor::DimOp>(loc, saved, getSlotDim());
  numRows = builder.createOrFold<tensor::DimOp>(loc, saved, 1 - getSlotDim());
  for (BlockArgument state :
       chain.getBody().getArguments().slice(chain.getSaved().size(), chain.getSeeds().size()))
    stateSizes.push_back(mlir::cast<VectorType>(state.getType()).getDimSize(0));
  size = getStateOffset(stateSizes.size());
  isDiagonal = chain.getStructure()->isDiagonal();
  numColumns = (isDiagonal ? 1 : size) + (chain.getInjected().empty() ? 0 : 1);
}

int64_t bppsa::getNumSteps(ChainOp chain) {
  auto type = mlir::cast<ShapedType>(chain.getSaved().front().getType());
  return type.getDimSize(chain.getLanes() ? 1 : 0);
}

int64_t ChainArrays::getStateOffset(size_t state) const {
  return std::accumulate(stateSizes.begin(), stateSizes.begin() + state, int64_t(0));
}

IndexRange ChainArrays::getStateRange(size_t state) const {
  return {getAttr(getStateOffset(state)), getAttr(stateSizes[state])};
}

IndexRange ChainArrays::getAllRows() const { return {getAttr(0), getAsOpFoldResult(numRows)}; }

Value ChainArrays::getIndex(int64_t value) const {
  return arith::ConstantIndexOp::create(builder, loc, value);
}

SmallVector<OpFoldResult> ChainArrays::getArraySizes(ArrayRef<OpFoldResult> outer,
                                                     ArrayRef<int64_t> inner) const {
  SmallVector<OpFoldResult> sizes(outer);
  for (int64_t count : inner)
    sizes.push_back(getAttr(count));
  if (isPacked())
    sizes.push_back(getAttr(*chain.getLanes()));
  return sizes;
}

Value ChainArrays::createEmpty(OpFoldResult slots, OpFoldResult rows,
                               ArrayRef<int64_t> inner) const {
  SmallVector<OpFoldResult> outer = {slots, rows};
  if (isPacked())
    std::swap(outer[0], outer[1]);
  SmallVector<int64_t> shape;
  SmallVector<Value> dynamicSizes;
  dispatchIndexOpFoldResults(getArraySizes(outer, inner), dynamicSizes, shape);
  // Unlike empty tensors, allocations are never merged, so arrays are written in place.
  auto type = RankedTensorType::get(shape, getElementTypeOrSelf(chain.getSeeds().front()));
  return bufferization::AllocTensorOp::create(builder, loc, type, dynamicSizes);
}

Value ChainArrays::createEmpty(ArrayRef<OpFoldResult> outer, ArrayRef<int64_t> inner) const {
  return tensor::EmptyOp::create(builder, loc, getArraySizes(outer, inner),
                                 getElementTypeOrSelf(chain.getSeeds().front()));
}

ChainArrays::Slice ChainArrays::getSlice(Value array, const ArrayWindow &window) const {
  Slice slice;
  int64_t rank = mlir::cast<RankedTensorType>(array.getType()).getRank();
  int64_t innermost = rank - (isPacked() ? 2 : 1);
  for (int64_t dim = 0; dim < rank; ++dim) {
    IndexRange range = {getAttr(0), tensor::getMixedSize(builder, loc, array, dim)};
    if (dim == getSlotDim())
      range = window.slots;
    else if (dim == 1 - getSlotDim())
      range = window.rows;
    else if (dim == innermost && window.elements)
      range = *window.elements;
    slice.offsets.push_back(range.first);
    slice.sizes.push_back(range.count);
    slice.strides.push_back(getAttr(1));
  }
  return slice;
}

ChainArrays::Slice ChainArrays::getRowSlice(Value array, IndexRange rows) const {
  Slice slice;
  int64_t rank = mlir::cast<RankedTensorType>(array.getType()).getRank();
  for (int64_t dim = 0; dim < rank; ++dim) {
    slice.offsets.push_back(dim == 0 ? rows.first : getAttr(0));
    slice.sizes.push_back(dim == 0 ? rows.count : tensor::getMixedSize(builder, loc, array, dim));
    slice.strides.push_back(getAttr(1));
  }
  return slice;
}

Value ChainArrays::extract(Value array, const ArrayWindow &window) const {
  Slice slice = getSlice(array, window);
  auto type = mlir::cast<RankedTensorType>(array.getType());
  SmallVector<int64_t> shape;
  for (auto [dim, size] : llvm::enumerate(slice.sizes))
    if ((!window.dropsSlots || static_cast<int64_t>(dim) != getSlotDim()) &&
        (!window.dropsRows || static_cast<int64_t>(dim) != 1 - getSlotDim()))
      shape.push_back(getConstantIntValue(size).value_or(ShapedType::kDynamic));
  return tensor::ExtractSliceOp::create(builder, loc,
                                        RankedTensorType::get(shape, type.getElementType()), array,
                                        slice.offsets, slice.sizes, slice.strides);
}

Value ChainArrays::insert(Value value, Value array, const ArrayWindow &window) const {
  Slice slice = getSlice(array, window);
  return tensor::InsertSliceOp::create(builder, loc, value, array, slice.offsets, slice.sizes,
                                       slice.strides);
}

void ChainArrays::insertInParallel(scf::ForallOp loop, Value value, Value array,
                                   const ArrayWindow &window) const {
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(loop.getTerminator());
  Slice slice = getSlice(array, window);
  builder.setInsertionPointToEnd(loop.getTerminator().getBody());
  tensor::ParallelInsertSliceOp::create(builder, loc, value, array, slice.offsets, slice.sizes,
                                        slice.strides);
}

Value ChainArrays::extractRows(Value array, IndexRange rows) const {
  Slice slice = getRowSlice(array, rows);
  return tensor::ExtractSliceOp::create(builder, loc, array, slice.offsets, slice.sizes,
                                        slice.strides);
}

Value ChainArrays::insertRows(Value value, Value array, IndexRange rows) const {
  Slice slice = getRowSlice(array, rows);
  return tensor::InsertSliceOp::create(builder, loc, value, array, slice.offsets, slice.sizes,
                                       slice.strides);
}

SmallVector<Value> ChainArrays::extractAll(ValueRange sequences, const ArrayWindow &window) const {
  return llvm::map_to_vector(sequences, [&](Value value) { return extract(value, window); });
}

Value ChainArrays::cast(Value value, Type type) const {
  return value.getType() == type ? value : tensor::CastOp::create(builder, loc, type, value);
}
