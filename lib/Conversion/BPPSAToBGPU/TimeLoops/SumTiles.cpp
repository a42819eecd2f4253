//===- SumTiles.cpp - running sums in registers ---------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "SumTiles.h"
#include "../../../Codegen/GPU/Launch.h"
#include "../ThreadNumbers.h"
#include "bppsa/Dialect/BGPU/IR/BGPU.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace bppsa;

/// Steps between additions to memory, which limit rounding errors. A power of two.
static constexpr int64_t kStepsOfSums = 512;

SumTiles::SumTiles(const CotangentLoop &loop, Block &link, int64_t parts)
    : loc(loop.op->getLoc()), element(loop.getElementType()), parts(parts) {
  auto terms = link.getTerminator()->getOperands().take_back(loop.sumWith.size());
  for (auto [with, term] : llvm::zip_equal(loop.sumWith, terms)) {
    int64_t columns = 1;
    if (with != kNoFactor)
      columns = cast<ShapedType>(loop.factors[with].getType()).getShape().back();
    sums.push_back({with, getNumRows(term), columns});
  }
}

int64_t SumTiles::countRegisters() const {
  int64_t count = 0;
  for (const Sum &sum : sums)
    count += getLayout(sum).getNumSlots();
  return count;
}

int64_t SumTiles::countElements() const {
  int64_t count = 0;
  for (const Sum &sum : sums)
    count += sum.countElements();
  return count;
}

Type SumTiles::getElementType(const Sum &sum) const {
  return sum.hasFactor() ? VectorType::get(getLayout(sum).getNumSlots(), element) : element;
}

SmallVector<Value> SumTiles::makeTiles(OpBuilder &builder, const StepTiles &steps,
                                       function_ref<Value(OpBuilder &)> number) const {
  SmallVector<Value> tiles;
  for (const Sum &sum : sums) {
    if (!sum.hasFactor()) {
      tiles.push_back(
          steps.forEachRow(builder, loc, sum.rows, element,
                           [&](OpBuilder &inThread, Value) { return number(inThread); }));
      continue;
    }
    Type vector = getElementType(sum);
    auto fill = [&](OpBuilder &inThread, Value, Value, ValueRange) -> SmallVector<Value> {
      return {vector::BroadcastOp::create(inThread, loc, vector, number(inThread))};
    };
    llvm::append_range(tiles, steps.forEachPart(builder, loc, sum.rows, {}, vector, fill));
  }
  return tiles;
}

SmallVector<Value> SumTiles::begin(OpBuilder &builder, const StepTiles &steps, Value memory) {
  SmallVector<Value> views;
  int64_t first = 0;
  for (const Sum &sum : sums) {
    OpFoldResult one = builder.getIndexAttr(1), size = builder.getIndexAttr(sum.countElements());
    Value view = memref::SubViewOp::create(builder, loc, memory, {builder.getIndexAttr(first)},
                                           {size}, {one});
    if (sum.hasFactor())
      view = memref::ExpandShapeOp::create(builder, loc, {sum.columns, sum.rows}, view, {{0, 1}});
    views.push_back(view);
    first += sum.countElements();
  }
  auto distinct = memref::DistinctObjectsOp::create(builder, loc, views);
  arrays.assign(distinct.getResults().begin(), distinct.getResults().end());
  auto makeZero = [&](OpBuilder &inThread) -> Value {
    return arith::ConstantOp::create(inThread, loc, inThread.getZeroAttr(element));
  };
  SmallVector<Value> zeros = makeTiles(builder, steps, makeZero);
  for (auto [tile, array] : llvm::zip_equal(zeros, arrays))
    bgpu::AccumulateOp::create(builder, loc, tile, array, /*overwrite=*/true);
  auto tile = RankedTensorType::get({1}, element);
  Value ofBlock = arith::ConstantOp::create(builder, loc, builder.getZeroAttr(tile));
  zero = bgpu::ShareOp::create(builder, loc, ofBlock);
  return zeros;
}

void SumTiles::store(OpBuilder &builder, ValueRange running) const {
  for (auto [tile, array] : llvm::zip_equal(running, arrays))
    bgpu::AccumulateOp::create(builder, loc, tile, array, /*overwrite=*/false);
}

/// Sums restart from a zero in memory: a constant would become a select per sum and step, and a
/// separate outer loop would need more registers.
SmallVector<Value> SumTiles::empty(OpBuilder &builder, const StepTiles &steps, Value position,
                                   ValueRange running) {
  Value last = getIndex(builder, loc, kStepsOfSums - 1);
  Value isFull = isEqual(builder, loc, arith::AndIOp::create(builder, loc, position, last), last);
  auto storeAll = [&](OpBuilder &nested, Location) {
    store(nested, running);
    Place place = {zero, {}};
    auto loadZero = [&](OpBuilder &inThread) {
      return place.load(inThread, loc, getIndex(inThread, loc, 0));
    };
    scf::YieldOp::create(nested, loc, makeTiles(nested, steps, loadZero));
  };
  auto keepAll = [&](OpBuilder &nested, Location) { scf::YieldOp::create(nested, loc, running); };
  auto left = scf::IfOp::create(builder, loc, isFull, storeAll, keepAll);
  return llvm::to_vector_of<Value>(left.getResults());
}

void SumTiles::beginStep(ArrayRef<Place> ofStep) {
  factors.assign(ofStep.begin(), ofStep.end());
  loaded.clear();
}

/// Columns are distributed over a row's threads like matrix columns. Elements past the end are not
/// loaded.
Value SumTiles::getFactor(OpBuilder &builder, const StepTiles &steps, const Sum &sum) {
  Value &tile = loaded[{sum.factor, sum.rows}];
  if (tile)
    return tile;
  auto type = cast<VectorType>(getElementType(sum));
  BlockCyclicLayout layout = getLayout(sum);
  auto loadOwn = [&](OpBuilder &inThread, Value, Value part, ValueRange) -> SmallVector<Value> {
    SmallVector<Value> elements;
    for (int64_t i = 0; i < type.getNumElements(); ++i)
      elements.push_back(
          factors[sum.factor].load(inThread, loc, layout.getElement(inThread, loc, part, i).index));
    return {packScalars(inThread, loc, elements)};
  };
  tile = steps.forEachPart(builder, loc, sum.rows, {}, type, loadOwn).front();
  return tile;
}

void SumTiles::readFactors(OpBuilder &builder, const StepTiles &steps, int64_t capacity) {
  if (countRegisters() > capacity)
    return;
  for (const Sum &sum : sums)
    if (sum.hasFactor())
      getFactor(builder, steps, sum);
}

Value SumTiles::add(OpBuilder &builder, const StepTiles &steps, size_t number, Value running,
                    Value term) {
  const Sum &sum = sums[number];
  if (!sum.hasFactor())
    return arith::AddFOp::create(builder, loc, running, term);
  auto type = cast<VectorType>(getElementType(sum));
  auto addOwn = [&](OpBuilder &inThread, Value, Value, ValueRange own) -> SmallVector<Value> {
    SmallVector<Value> elements;
    for (int64_t i = 0; i < type.getNumElements(); ++i) {
      Value before = vector::ExtractOp::create(inThread, loc, own[0], i);
      Value factor = vector::ExtractOp::create(inThread, loc, own[1], i);
      elements.push_back(math::FmaOp::create(inThread, loc, own[2], factor, before));
    }
    return {packScalars(inThread, loc, elements)};
  };
  SmallVector<Value> own = {running, getFactor(builder, steps, sum), term};
  return steps.forEachPart(builder, loc, sum.rows, own, type, addOwn).front();
}
