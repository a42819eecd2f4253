//===- GraphLoops.cpp - elementwise ops, reductions, contractions ---------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "../Graph/GraphBuilder.h"
#include "bppsa/Dialect/BPPSA/IR/BPPSA.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace bppsa;

Value GraphBuilder::collapseOnes(const Tensor &operand, ArrayRef<bool> collapsed) {
  Value value = getValue(operand);
  if (!llvm::is_contained(collapsed, true))
    return value;
  // A group consists of one kept dimension followed by collapsed ones.
  SmallVector<ReassociationIndices> groups;
  SmallVector<Dim> kept;
  ReassociationIndices leading;
  for (auto [i, dim] : llvm::enumerate(operand.dims)) {
    if (!collapsed[i]) {
      kept.push_back(dim);
      groups.push_back(std::exchange(leading, {}));
      groups.back().push_back(i);
    } else if (groups.empty()) {
      leading.push_back(i);
    } else {
      groups.back().push_back(i);
    }
  }
  return makeCollapsed(value, getType(kept, operand.elementType), groups);
}

static Value createGeneric(OpBuilder &builder, Location loc, ValueRange inputs, Value init,
                           ArrayRef<AffineMap> maps, GraphBuilder::Body body) {
  SmallVector<utils::IteratorType> iterators(maps.front().getNumDims(),
                                             utils::IteratorType::reduction);
  // Several iterations may access the same element of a window.
  for (AffineExpr expr : maps.back().getResults())
    if (auto dim = dyn_cast<AffineDimExpr>(expr))
      iterators[dim.getPosition()] = utils::IteratorType::parallel;
  auto generic = linalg::GenericOp::create(
      builder, loc, init.getType(), inputs, init, maps, iterators,
      [&](OpBuilder &nested, Location location, ValueRange arguments) {
        linalg::YieldOp::create(nested, location, body(nested, location, arguments));
      });
  return generic.getResult(0);
}

FailureOr<Tensor> GraphBuilder::makeElementwise(ArrayRef<Tensor> operands, Type elementType,
                                                Body body) {
  SmallVector<Dim> dims;
  for (const Tensor &operand : operands) {
    FailureOr<SmallVector<Dim>> common = broadcast(dims, operand.dims);
    if (failed(common))
      return failure();
    dims = *common;
  }
  int64_t rank = dims.size();
  SmallVector<Value> inputs;
  SmallVector<AffineMap> maps;
  for (const Tensor &operand : operands) {
    SmallVector<bool> collapsed;
    SmallVector<AffineExpr> results;
    for (auto [i, dim] : llvm::enumerate(operand.dims)) {
      int64_t position = rank - operand.getRank() + i;
      collapsed.push_back(dim.isOne() && !dims[position].isOne());
      if (!collapsed.back())
        results.push_back(builder.getAffineDimExpr(position));
    }
    inputs.push_back(collapseOnes(operand, collapsed));
    maps.push_back(AffineMap::get(rank, 0, results, getContext()));
  }
  maps.push_back(builder.getMultiDimIdentityMap(rank));
  return make(createGeneric(builder, loc, inputs, makeEmpty(dims, elementType), maps, body), dims);
}

FailureOr<Tensor> GraphBuilder::makeBroadcast(const Tensor &operand, ArrayRef<Dim> dims) {
  if (operand.getRank() == static_cast<int64_t>(dims.size()) &&
      llvm::all_of(llvm::zip(operand.dims, dims),
                   [](auto pair) { return std::get<0>(pair).size == std::get<1>(pair).size; }))
    return operand;
  // An operand without a value would only provide its shape, as the map of the result does.
  FailureOr<SmallVector<Dim>> common = broadcast(dims, operand.dims);
  if (failed(common))
    return failure();
  int64_t rank = common->size();
  SmallVector<bool> collapsed;
  SmallVector<AffineExpr> results;
  for (auto [i, dim] : llvm::enumerate(operand.dims)) {
    int64_t position = rank - operand.getRank() + i;
    collapsed.push_back(dim.isOne() && !(*common)[position].isOne());
    if (!collapsed.back())
      results.push_back(builder.getAffineDimExpr(position));
  }
  AffineMap maps[] = {AffineMap::get(rank, 0, results, getContext()),
                      builder.getMultiDimIdentityMap(rank)};
  Value value = createGeneric(
      builder, loc, collapseOnes(operand, collapsed), makeEmpty(*common, operand.elementType), maps,
      [](OpBuilder &, Location, ValueRange arguments) { return arguments[0]; });
  return make(value, *common);
}

Tensor GraphBuilder::makeReduction(const Tensor &operand, ArrayRef<int64_t> reduced,
                                   TypedAttr neutral, Body body) {
  SmallVector<Dim> kept;
  SmallVector<AffineExpr> results;
  for (auto [i, dim] : llvm::enumerate(operand.dims)) {
    if (llvm::is_contained(reduced, static_cast<int64_t>(i))) {
      mark(dim, Mixed);
      continue;
    }
    kept.push_back(dim);
    results.push_back(builder.getAffineDimExpr(i));
  }
  int64_t rank = operand.getRank();
  AffineMap maps[] = {builder.getMultiDimIdentityMap(rank),
                      AffineMap::get(rank, 0, results, getContext())};
  Value init = makeFilled(kept, neutral).value;
  Value value = createGeneric(builder, loc, getValue(operand), init, maps, body);
  return make(value, kept);
}

Tensor GraphBuilder::makeSum(const Tensor &operand, ArrayRef<int64_t> axes) {
  Tensor sum =
      makeReduction(operand, axes, builder.getF32FloatAttr(0),
                    [](OpBuilder &nested, Location location, ValueRange arguments) {
                      return arith::AddFOp::create(nested, location, arguments[0], arguments[1]);
                    });
  return makeUnsqueeze(sum, axes);
}

Tensor GraphBuilder::makeMaximum(const Tensor &operand, ArrayRef<int64_t> axes) {
  APFloat infinity = APFloat::getInf(APFloat::IEEEsingle(), /*Negative=*/true);
  Tensor maximum = makeReduction(
      operand, axes, builder.getFloatAttr(builder.getF32Type(), infinity),
      [](OpBuilder &nested, Location location, ValueRange arguments) {
        return arith::MaximumFOp::create(nested, location, arguments[0], arguments[1]);
      });
  maximum.value = StopGradientOp::create(builder, loc, maximum.value);
  return makeUnsqueeze(maximum, axes);
}

Tensor GraphBuilder::makeContraction(const Tensor &lhs, const Tensor &rhs, ArrayRef<Dim> dims,
                                     ArrayRef<AffineMap> maps) {
  Tensor zeros = makeFilled(dims, builder.getF32FloatAttr(0));
  return makeContraction(lhs, rhs, zeros, maps);
}

Tensor GraphBuilder::makeContraction(const Tensor &lhs, const Tensor &rhs, const Tensor &init,
                                     ArrayRef<AffineMap> maps) {
  return makeGeneric({lhs, rhs}, init, maps,
                     [](OpBuilder &nested, Location location, ValueRange arguments) -> Value {
                       Value product =
                           arith::MulFOp::create(nested, location, arguments[0], arguments[1]);
                       return arith::AddFOp::create(nested, location, arguments[2], product);
                     });
}

Tensor GraphBuilder::makeGeneric(ArrayRef<Tensor> inputs, const Tensor &init,
                                 ArrayRef<AffineMap> maps, Body body) {
  SmallVector<Value> values =
      llvm::map_to_vector(inputs, [&](const Tensor &input) { return getValue(input); });
  Value value = createGeneric(builder, loc, values, getValue(init), maps, body);
  return make(value, getLoopDims(inputs, init, maps));
}

SmallVector<Dim> GraphBuilder::getLoopDims(ArrayRef<Tensor> inputs, const Tensor &init,
                                           ArrayRef<AffineMap> maps) {
  SmallVector<std::optional<Dim>> loops(maps.front().getNumDims());
  auto add = [&](const Tensor &tensor, AffineMap map) {
    for (auto [dim, expr] : llvm::zip_equal(tensor.dims, map.getResults())) {
      auto loop = dyn_cast<AffineDimExpr>(expr);
      if (!loop) {
        mark(dim, Cut);
        continue;
      }
      std::optional<Dim> &common = loops[loop.getPosition()];
      common = common ? mergeOrigins(*common, dim) : dim;
    }
  };
  add(init, maps.back());
  for (auto [input, map] : llvm::zip_equal(inputs, maps.drop_back()))
    add(input, map);
  SmallVector<Dim> dims;
  for (auto [own, expr] : llvm::zip_equal(init.dims, maps.back().getResults())) {
    auto loop = dyn_cast<AffineDimExpr>(expr);
    dims.push_back(loop ? *std::exchange(loops[loop.getPosition()], std::nullopt) : own);
  }
  for (const std::optional<Dim> &loop : loops)
    if (loop)
      mark(*loop, Mixed);
  return dims;
}

static bool keepsOrder(ArrayRef<int64_t> permutation, int64_t one) {
  SmallVector<int64_t> others(permutation);
  llvm::erase(others, one);
  return llvm::is_sorted(others);
}

std::optional<Value> GraphBuilder::transposeParts(const Tensor &operand,
                                                  ArrayRef<int64_t> permutation) {
  auto concat = operand.value.getDefiningOp<tensor::ConcatOp>();
  int64_t axis = concat ? concat.getDim() : 0;
  if (!concat || !keepsOrder(permutation, axis) ||
      !llvm::all_of(concat.getInputs().getTypes(),
                    [&](Type type) { return cast<RankedTensorType>(type).getDimSize(axis) == 1; }))
    return std::nullopt;
  Tensor part = operand;
  part.dims[axis] = getDim(1);
  SmallVector<Value> parts;
  SmallVector<Dim> dims;
  for (Value input : concat.getInputs()) {
    part.value = input;
    parts.push_back(makeTranspose(part, permutation).value);
  }
  for (int64_t source : permutation)
    dims.push_back(operand.dims[source]);
  return tensor::ConcatOp::create(builder, loc, getType(dims, operand.elementType),
                                  llvm::find(permutation, axis) - permutation.begin(), parts);
}

Tensor GraphBuilder::makeTranspose(const Tensor &operand, ArrayRef<int64_t> permutation) {
  SmallVector<Dim> dims;
  SmallVector<AffineExpr> results(operand.getRank());
  SmallVector<int64_t> ones, onesAfter, others;
  for (auto [i, axis] : llvm::enumerate(permutation)) {
    dims.push_back(operand.dims[axis]);
    results[axis] = builder.getAffineDimExpr(i);
    if (!dims.back().isOne()) {
      others.push_back(axis);
      continue;
    }
    ones.push_back(axis);
    onesAfter.push_back(i);
  }
  if (llvm::equal(permutation, llvm::seq<int64_t>(operand.getRank())))
    return operand;
  // If the elements stay in order, as a whole or within each part of a concatenation, they are not
  // copied.
  if (llvm::is_sorted(others) && !operand.elements)
    return make(makeUnsqueeze(makeSqueeze(operand, ones), onesAfter).value, dims);
  if (auto parts = operand.elements ? std::nullopt : transposeParts(operand, permutation))
    return make(*parts, dims);
  AffineMap maps[] = {AffineMap::get(operand.getRank(), 0, results, getContext()),
                      builder.getMultiDimIdentityMap(operand.getRank())};
  Value value =
      createGeneric(builder, loc, getValue(operand), makeEmpty(dims, operand.elementType), maps,
                    [](OpBuilder &, Location, ValueRange arguments) { return arguments[0]; });
  return make(value, dims);
}
