//===- RowsOfTensorOps.cpp - batches slices, reshapes, elements -----------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "RowMapper.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Utils/IndexingUtils.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace bppsa;

bool RowMapper::convertTensorOp(Operation *op) {
  return llvm::TypeSwitch<Operation *, bool>(op)
      .Case([&](tensor::ExtractSliceOp slice) { return convertExtractSlice(slice); })
      .Case([&](tensor::InsertSliceOp slice) { return convertInsertSlice(slice); })
      .Case([&](tensor::InsertOp insert) { return convertInsert(insert), true; })
      .Case([&](tensor::ExpandShapeOp reshape) { return convertExpandShape(reshape), true; })
      .Case([&](tensor::CollapseShapeOp reshape) { return convertCollapseShape(reshape), true; })
      .Case([&](tensor::ReshapeOp reshape) { return convertReshape(reshape), true; })
      .Case([&](tensor::ConcatOp concat) { return convertConcat(concat), true; })
      .Case([&](tensor::ExtractOp extract) { return convertExtract(extract), true; })
      .Case([&](tensor::FromElementsOp op) { return convertFromElements(op), true; })
      .Default(false);
}

/// `mixed` are offsets, sizes or strides of one sample.
static SmallVector<OpFoldResult> withRow(ArrayRef<OpFoldResult> mixed, int64_t axis,
                                         OpFoldResult row,
                                         function_ref<Value(Value)> getCounterpart) {
  SmallVector<OpFoldResult> all;
  for (OpFoldResult entry : mixed) {
    auto value = dyn_cast<Value>(entry);
    all.push_back(value ? OpFoldResult(getCounterpart(value)) : entry);
  }
  all.insert(all.begin() + axis, row);
  return all;
}

bool RowMapper::convertExtractSlice(tensor::ExtractSliceOp op) {
  if (llvm::any_of(op->getOperands().drop_front(), [&](Value value) { return hasRows(value); }))
    return false;
  auto [source, axis] = get(op.getSource());
  auto shared = [&](Value value) { return getShared(value); };
  int64_t dropped = 0;
  for (int64_t dim = 0; dim < *axis; ++dim)
    dropped += op.getDroppedDims().test(dim);
  Value slice = tensor::ExtractSliceOp::create(
      builder, op.getLoc(), getRowsType(op.getType(), *axis - dropped), source,
      withRow(op.getMixedOffsets(), *axis, getIndex(0), shared),
      withRow(op.getMixedSizes(), *axis, rows, shared),
      withRow(op.getMixedStrides(), *axis, getIndex(1), shared));
  setRows(op.getResult(), slice, *axis - dropped);
  return true;
}

bool RowMapper::convertInsertSlice(tensor::InsertSliceOp op) {
  if (llvm::any_of(op->getOperands().drop_front(2), [&](Value value) { return hasRows(value); }))
    return false;
  auto shared = [&](Value value) { return getShared(value); };
  Value source = getRows(op.getSource()), dest = getRows(op.getDest());
  setRows(op.getResult(),
          tensor::InsertSliceOp::create(builder, op.getLoc(), source, dest,
                                        withRow(op.getMixedOffsets(), 0, getIndex(0), shared),
                                        withRow(op.getMixedSizes(), 0, rows, shared),
                                        withRow(op.getMixedStrides(), 0, getIndex(1), shared)));
  return true;
}

void RowMapper::convertConcat(tensor::ConcatOp op) {
  auto inputs = llvm::map_to_vector(op.getInputs(), [&](Value value) { return getRows(value); });
  setRows(op.getResult(),
          tensor::ConcatOp::create(builder, op.getLoc(), getRowsType(op.getResultType()),
                                   op.getDim() + 1, inputs));
}

/// If one side of a reshape is a scalar, all dimensions form one group.
static SmallVector<ReassociationIndices> withRows(ArrayRef<ReassociationIndices> groups,
                                                  int64_t rank) {
  if (groups.empty())
    return {llvm::to_vector(llvm::seq<int64_t>(0, rank + 1))};
  SmallVector<ReassociationIndices> all = {{0}};
  for (const ReassociationIndices &group : groups) {
    all.emplace_back();
    for (int64_t dim : group)
      all.back().push_back(dim + 1);
  }
  return all;
}

void RowMapper::convertExpandShape(tensor::ExpandShapeOp op) {
  RankedTensorType type = getRowsType(op.getResultType());
  SmallVector<OpFoldResult> sizes = getAsIndexOpFoldResult(builder.getContext(), type.getShape());
  sizes.front() = rows;
  setRows(op.getResult(),
          tensor::ExpandShapeOp::create(
              builder, op.getLoc(), type, getRows(op.getSrc()),
              withRows(op.getReassociationIndices(), op.getResultType().getRank()), sizes));
}

void RowMapper::convertCollapseShape(tensor::CollapseShapeOp op) {
  setRows(op.getResult(),
          tensor::CollapseShapeOp::create(
              builder, op.getLoc(), getRowsType(op.getResultType()), getRows(op.getSrc()),
              withRows(op.getReassociationIndices(), op.getSrcType().getRank())));
}

void RowMapper::convertReshape(tensor::ReshapeOp op) {
  Location loc = op.getLoc();
  auto getGroups = [](int64_t rank) {
    SmallVector<ReassociationIndices> groups = {{0}};
    if (rank > 0)
      groups.push_back(llvm::to_vector(llvm::seq<int64_t>(1, rank + 1)));
    return groups;
  };
  Value flat = getRows(op.getSource());
  auto sourceType = cast<RankedTensorType>(op.getSource().getType());
  auto type = cast<RankedTensorType>(op.getType());
  if (sourceType.getRank() > 1)
    flat = tensor::CollapseShapeOp::create(builder, loc, flat, getGroups(sourceType.getRank()));
  if (sourceType.getRank() == 0) {
    ReassociationIndices both = {0, 1};
    auto one = RankedTensorType::get({1}, type.getElementType());
    flat = tensor::ExpandShapeOp::create(builder, loc, getRowsType(one), flat, ArrayRef{both},
                                         ArrayRef{rows, getIndex(1)});
  }
  if (type.getRank() == 0) {
    ReassociationIndices both = {0, 1};
    flat = tensor::CollapseShapeOp::create(builder, loc, flat, ArrayRef{both});
  } else if (type.getRank() > 1) {
    RankedTensorType expanded = getRowsType(type);
    SmallVector<OpFoldResult> sizes =
        getAsIndexOpFoldResult(builder.getContext(), expanded.getShape());
    sizes.front() = rows;
    flat = tensor::ExpandShapeOp::create(builder, loc, expanded, flat, getGroups(type.getRank()),
                                         sizes);
  }
  setRows(op.getResult(), flat);
}

void RowMapper::convertExtract(tensor::ExtractOp op) {
  Location loc = op.getLoc();
  auto [tensor, axis] = get(op.getTensor());
  if (axis && llvm::none_of(op.getIndices(), [&](Value index) { return hasRows(index); })) {
    SmallVector<OpFoldResult> ones(op.getIndices().size(), getIndex(1));
    auto shared = [&](Value value) { return getShared(value); };
    SmallVector<OpFoldResult> strides(ones.size() + 1, getIndex(1));
    setRows(op.getResult(),
            tensor::ExtractSliceOp::create(
                builder, loc, getRowsType(op.getType()), tensor,
                withRow(getAsOpFoldResult(op.getIndices()), *axis, getIndex(0), shared),
                withRow(ones, *axis, rows, shared), strides));
    return;
  }
  SmallVector<Value> places;
  for (Value index : op.getIndices())
    places.push_back(getRows(index));
  Value empty = createEmpty(op.getType());
  SmallVector<AffineMap> maps(places.size() + 1, builder.getMultiDimIdentityMap(1));
  auto generic = linalg::GenericOp::create(
      builder, loc, empty.getType(), places, empty, maps, ArrayRef{utils::IteratorType::parallel},
      [&, source = tensor, rowAxis = axis](OpBuilder &nested, Location, ValueRange elements) {
        SmallVector<Value> indices(elements.drop_back());
        if (rowAxis)
          indices.insert(indices.begin() + *rowAxis, linalg::IndexOp::create(nested, loc, 0));
        linalg::YieldOp::create(
            nested, loc, tensor::ExtractOp::create(nested, loc, source, indices).getResult());
      });
  setRows(op.getResult(), generic.getResult(0));
}

void RowMapper::insertAtRowIndices(tensor::InsertOp op) {
  Location loc = op.getLoc();
  SmallVector<Value> places;
  for (Value index : op.getIndices())
    places.push_back(getRows(index));
  Value scalars = getRows(op.getScalar()), dest = getRows(op.getDest());
  Value zero = arith::ConstantIndexOp::create(builder, loc, 0);
  Value one = arith::ConstantIndexOp::create(builder, loc, 1);
  Value count = getValueOrCreateConstantIndexOp(builder, loc, rows);
  auto loop = scf::ForOp::create(
      builder, loc, zero, count, one, dest,
      [&](OpBuilder &nested, Location, Value row, ValueRange carried) {
        SmallVector<Value> indices = {row};
        for (Value place : places)
          indices.push_back(tensor::ExtractOp::create(nested, loc, place, row));
        Value scalar = tensor::ExtractOp::create(nested, loc, scalars, row);
        Value next = tensor::InsertOp::create(nested, loc, scalar, carried.front(), indices);
        scf::YieldOp::create(nested, loc, next);
      });
  setRows(op.getResult(), loop.getResult(0));
}

void RowMapper::convertInsert(tensor::InsertOp op) {
  if (llvm::any_of(op.getIndices(), [&](Value index) { return hasRows(index); }))
    return insertAtRowIndices(op);
  auto shared = [&](Value value) { return getShared(value); };
  SmallVector<OpFoldResult> ones(op.getIndices().size(), getIndex(1));
  Value scalar = getRows(op.getScalar()), dest = getRows(op.getDest());
  setRows(op.getResult(), tensor::InsertSliceOp::create(
                              builder, op.getLoc(), scalar, dest,
                              withRow(getAsOpFoldResult(op.getIndices()), 0, getIndex(0), shared),
                              withRow(ones, 0, rows, shared),
                              SmallVector<OpFoldResult>(ones.size() + 1, getIndex(1))));
}

void RowMapper::convertFromElements(tensor::FromElementsOp op) {
  RankedTensorType one = op.getType();
  Value all = createEmpty(one);
  SmallVector<int64_t> strides = computeSuffixProduct(one.getShape());
  for (auto [number, element] : llvm::enumerate(op.getElements())) {
    SmallVector<int64_t> place = delinearize(number, strides);
    SmallVector<OpFoldResult> offsets = getAsIndexOpFoldResult(builder.getContext(), place);
    offsets.insert(offsets.begin(), getIndex(0));
    SmallVector<OpFoldResult> sizes(offsets.size(), getIndex(1)), steps(sizes);
    sizes.front() = rows;
    Value scalar = getRows(element);
    all = tensor::InsertSliceOp::create(builder, op.getLoc(), scalar, all, offsets, sizes, steps);
  }
  setRows(op.getResult(), all);
}
