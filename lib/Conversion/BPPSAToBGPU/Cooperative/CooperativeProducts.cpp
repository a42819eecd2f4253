//===- CooperativeProducts.cpp - products of a cooperative loop -----------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "../../../Codegen/GPU/Launch.h"
#include "../../../Codegen/GPU/RowProduct.h"
#include "../ThreadNumbers.h"
#include "CooperativeLoop.h"
#include "bppsa/Dialect/BGPU/IR/BGPU.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace bppsa;

/// Vector parts in flight. Each needs 16 registers.
static constexpr int64_t kPartsTogether = 4;

/// Matrix entries per lane above which registers limit the loads in flight.
static constexpr int64_t kManyEntries = 96;

void CooperativeLoop::loadMatrices(OpBuilder &builder) {
  matrices.clear();
  for (const RowUnit &unit : plan.getUnits())
    for (const ProductSum &sum : unit.sums)
      for (MatVecOp product : sum.products)
        matrices[product] = loadMatrix(builder, product);
}

/// Lane l holds entries 4 l to 4 l + 3 of each group of 128. Entries past the last column are zero.
Value CooperativeLoop::loadMatrix(OpBuilder &builder, MatVecOp product) {
  int64_t rows = getNumRows(product.getResult()), columns = getNumRows(product.getVector());
  int64_t numLoads = countLoads(product.getVector());
  auto type = VectorType::get(rowsOfWarp * numLoads * kElementsPerAccess, builder.getF32Type());
  auto loadEntries = [&](OpBuilder &inThread, ValueRange at, ValueRange) {
    Value zero = arith::ConstantOp::create(inThread, loc, inThread.getF32FloatAttr(0));
    Value firstRow = getFirstRow(inThread, at), end = getIndex(inThread, loc, columns - 1);
    Value firstColumn = mulIndex(inThread, loc, at[1], getIndex(inThread, loc, kElementsPerAccess));
    SmallVector<Value> entries;
    for (int64_t r = 0; r < rowsOfWarp; ++r) {
      Value row = minIndex(inThread, loc, addIndex(inThread, loc, firstRow, r),
                           getIndex(inThread, loc, rows - 1));
      for (int64_t base = 0; base < columns; base += cost::kCooperativeColumns)
        for (int64_t k = 0; k < kElementsPerAccess; ++k) {
          Value column = addIndex(inThread, loc, firstColumn, base + k);
          bool isWhole = base + cost::kCooperativeColumns <= columns;
          Value at = isWhole ? column : minIndex(inThread, loc, column, end);
          Value entry =
              loadMatrixEntry(inThread, loc, product, getArray(product.getMatrix()), row, at);
          if (!isWhole) {
            Value exists =
                arith::CmpIOp::create(inThread, loc, arith::CmpIPredicate::ule, column, end);
            entry = arith::SelectOp::create(inThread, loc, exists, entry, zero);
          }
          entries.push_back(entry);
        }
    }
    return SmallVector<Value>{packScalars(inThread, loc, entries)};
  };
  return forEachLane(builder, {}, type, loadEntries).front();
}

/// Lanes exchange sums through shared memory.
void CooperativeLoop::emitSums(OpBuilder &builder, const RowUnit &unit) {
  if (unit.sums.empty())
    return;
  emitLoop(builder, loc, getIndex(builder, loc, 0), numTiles, [&](OpBuilder &nested, Value tile) {
    Value first =
        addIndex(nested, loc, firstSlot, mulIndex(nested, loc, tile, getIndex(nested, loc, kTile)));
    storeSums(nested, unit, addProducts(nested, unit, first), tile);
  });
  Value count = mulIndex(builder, loc, numTiles, getIndex(builder, loc, getSumsOfTile()));
  SmallVector<Type> types(unit.sums.size(), builder.getF32Type());
  auto loadOwn = [&](OpBuilder &inThread, ValueRange at, ValueRange) {
    // Lanes without a sample read an arbitrary sum.
    Value own = minIndex(inThread, loc, at[1], addIndex(inThread, loc, count, -1));
    SmallVector<Value> digits =
        splitIndex(inThread, loc, own, {Value(), getIndex(inThread, loc, getSumsOfTile())});
    SmallVector<Value> totals;
    for (int64_t number = 0, e = types.size() * getSumsOfTile(); number < e;
         number += getSumsOfTile()) {
      Value sum = getIndex(inThread, loc, number % kWarpThreads / getSumsOfTile());
      totals.push_back(memref::LoadOp::create(inThread, loc, sums[number / kWarpThreads],
                                              ValueRange{at[0], sum, digits[0], digits[1]}));
    }
    return totals;
  };
  for (auto [sum, total] : llvm::zip_equal(unit.sums, forEachLane(builder, {}, types, loadOwn)))
    tiles[sum.result] = total;
}

/// Partial sums are in vectors of 32; the last is zero-padded to a power of two.
SmallVector<Value> CooperativeLoop::addProducts(OpBuilder &builder, const RowUnit &unit,
                                                Value firstSample) {
  int64_t numTotals = unit.sums.size() * getSumsOfTile();
  SmallVector<Type> types;
  for (int64_t left = numTotals; left > 0; left -= kWarpThreads)
    types.push_back(
        VectorType::get(llvm::PowerOf2Ceil(std::min(left, kWarpThreads)), builder.getF32Type()));
  SmallVector<Value> ofProducts;
  for (const ProductSum &sum : unit.sums)
    for (MatVecOp product : sum.products)
      ofProducts.push_back(matrices.lookup(product));
  auto addUp = [&](OpBuilder &inThread, ValueRange at, ValueRange entries) {
    SmallVector<Value> totals = accumulate(inThread, unit, firstSample, at[1], entries), parts;
    Value zero = arith::ConstantOp::create(inThread, loc, inThread.getF32FloatAttr(0));
    totals.resize(types.size() * kWarpThreads, zero);
    for (auto [i, type] : llvm::enumerate(types)) {
      ArrayRef<Value> part = ArrayRef(totals).slice(i * kWarpThreads);
      parts.push_back(
          packScalars(inThread, loc, part.take_front(cast<VectorType>(type).getNumElements())));
    }
    return parts;
  };
  return forEachLane(builder, ofProducts, types, addUp);
}

/// Sums are ordered by sum, sample and row. A vector is loaded once for all rows, a matrix entry
/// once for all samples.
SmallVector<Value> CooperativeLoop::accumulate(OpBuilder &builder, const RowUnit &unit,
                                               Value firstSample, Value lane,
                                               ValueRange ofProducts) {
  Type element = builder.getF32Type();
  Value zero = arith::ConstantOp::create(builder, loc, builder.getZeroAttr(element));
  SmallVector<Value> totals(unit.sums.size() * getSumsOfTile(), zero);
  llvm::SmallSetVector<Value, 4> factors;
  DenseMap<Operation *, SmallVector<Value>> entries;
  for (const ProductSum &sum : unit.sums)
    for (MatVecOp product : sum.products) {
      factors.insert(product.getVector());
      SmallVector<Value> own = unpackScalars(builder, loc, ofProducts[entries.size()]);
      entries[product] = own;
    }
  auto type = VectorType::get(kElementsPerAccess, element);
  Value firstColumn = mulIndex(builder, loc, lane, getIndex(builder, loc, kElementsPerAccess));
  int64_t numLoaded = 0;
  for (Value vector : factors) {
    Place place = *findExchange(vector, current);
    int64_t numParts = countLoads(vector);
    for (int64_t part = 0; part < numParts; ++part, ++numLoaded) {
      // Otherwise ptxas hoists every load to the top of the loop and spills.
      if (numEntries > kManyEntries && numLoaded > 0 && numLoaded % kPartsTogether == 0)
        LLVM::FenceOp::create(builder, loc, LLVM::AtomicOrdering::acq_rel, "block");
      Value column =
          addIndex(builder, loc, firstColumn, place.first + part * cost::kCooperativeColumns);
      SmallVector<Value> loaded;
      for (int64_t s = 0; s < kTile; ++s)
        loaded.push_back(vector::LoadOp::create(
            builder, loc, type, place.memref,
            ValueRange{current, addIndex(builder, loc, firstSample, s), column},
            /*nontemporal=*/false, llvm::MaybeAlign(kElementsPerAccess * sizeof(float))));
      for (int64_t k = 0; k < kElementsPerAccess; ++k)
        for (int64_t s = 0; s < kTile; ++s) {
          Value factor = vector::ExtractOp::create(builder, loc, loaded[s], k);
          for (auto [i, sum] : llvm::enumerate(unit.sums))
            for (MatVecOp product : sum.products) {
              if (product.getVector() != vector)
                continue;
              ArrayRef<Value> own = entries[product];
              for (int64_t r = 0; r < rowsOfWarp; ++r) {
                Value &total = totals[(i * kTile + s) * rowsOfWarp + r];
                Value entry = own[(r * numParts + part) * kElementsPerAccess + k];
                total = math::FmaOp::create(builder, loc, entry, factor, total);
              }
            }
        }
    }
  }
  return totals;
}

/// The sums of a sample are contiguous. Of several lanes with a sum, the first stores it.
void CooperativeLoop::storeSums(OpBuilder &builder, const RowUnit &unit, ValueRange parts,
                                Value tile) {
  int64_t left = unit.sums.size() * getSumsOfTile();
  for (auto [part, array] : llvm::zip(parts, sums)) {
    int64_t count = std::min(left, kWarpThreads);
    left -= count;
    Value total = bgpu::ReduceScatterOp::create(builder, loc, vector::CombiningKind::ADD, part);
    auto type = cast<RankedTensorType>(total.getType());
    SmallVector<int64_t> shape(type.getShape());
    if (bgpu::getReplicas(type) > 1)
      shape.push_back(bgpu::getReplicas(type));
    auto store = [&, array = array](OpBuilder &inThread, ValueRange at, ValueRange own) {
      SmallVector<Value> digits =
          splitIndex(inThread, loc, at[1], {Value(), getIndex(inThread, loc, getSumsOfTile())});
      auto storeOwn = [&](OpBuilder &nested) {
        memref::StoreOp::create(nested, loc, own[0], array,
                                ValueRange{at[0], digits[0], tile, digits[1]});
      };
      if (type.getDimSize(1) == kWarpThreads && count == kWarpThreads)
        return storeOwn(inThread);
      Value exists = isBelow(inThread, loc, at[1], getIndex(inThread, loc, count));
      if (at.size() > 2) {
        Value isFirst = isEqual(inThread, loc, at[2], getIndex(inThread, loc, 0));
        exists = arith::AndIOp::create(inThread, loc, isFirst, exists);
      }
      emitIf(inThread, loc, exists, storeOwn);
    };
    bgpu::ForEachOp::create(builder, loc, shape, total, store);
  }
}
