//===- Slabs.cpp - slabs of sequence rows ---------------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "Slabs.h"
#include "../../Codegen/GPU/Launch.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace bppsa;

/// Slabs have kSlabRows rows for each kElementsOfSlab result elements, up to kLongestSlab times.
/// Large results fill the GPU anyway, and longer slabs store fewer partial results.
static constexpr int64_t kSlabRows = 1024, kElementsOfSlab = 1 << 17, kLongestSlab = 8;

int64_t Slabs::getLength(int64_t elements) {
  int64_t slabs = llvm::divideCeil(elements, kElementsOfSlab);
  return kSlabRows * std::min(slabs, kLongestSlab);
}

Slabs::Slabs(OpBuilder &builder, Location loc, Value sequence, int64_t length)
    : loc(loc), element(cast<MemRefType>(sequence.getType()).getElementType()), length(length) {
  numSamples = getDim(builder, loc, sequence, 1);
  numRows = mulIndex(builder, loc, getDim(builder, loc, sequence, 0), numSamples);
  numSlabs = arith::CeilDivUIOp::create(builder, loc, numRows, getIndex(builder, loc, length));
}

Slab Slabs::getSlab(OpBuilder &builder, Value number) const {
  Value first = mulIndex(builder, loc, number, getIndex(builder, loc, length));
  return {first, minIndex(builder, loc, addIndex(builder, loc, first, length), numRows)};
}

Value Slabs::flatten(OpBuilder &builder, Value sequence) const {
  if (!cast<MemRefType>(sequence.getType()).getLayout().isIdentity())
    return sequence;
  SmallVector<ReassociationIndices> groups = {{0, 1}, {2}};
  return memref::CollapseShapeOp::create(builder, loc, sequence, groups);
}

Value Slabs::load(OpBuilder &builder, Value sequence, Value row, Value column) const {
  if (cast<MemRefType>(sequence.getType()).getRank() == 2)
    return memref::LoadOp::create(builder, loc, sequence, ValueRange{row, column});
  SmallVector<Value> digits = splitIndex(builder, loc, row, {Value(), numSamples});
  return memref::LoadOp::create(builder, loc, sequence, ValueRange{digits[0], digits[1], column});
}

Value Slabs::getZero(OpBuilder &builder) const {
  return arith::ConstantOp::create(builder, loc, builder.getZeroAttr(element));
}
