//===- Slices.cpp - parts of arrays ---------------------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "Slices.h"
#include "bppsa/Support/IndexArithmetic.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"

using namespace mlir;
using namespace bppsa;

Value bppsa::getSize(OpBuilder &builder, Location loc, Value array, int64_t dim) {
  if (auto memory = array.getDefiningOp<memref::AllocOp>())
    return getValueOrCreateConstantIndexOp(builder, loc, memory.getMixedSizes()[dim]);
  return getDim(builder, loc, array, dim);
}

memref::SubViewOp bppsa::emitSlice(OpBuilder &builder, Location loc, Value array, int64_t dim,
                                   OpFoldResult first, OpFoldResult count) {
  SmallVector<OpFoldResult> sizes = memref::getMixedSizes(builder, loc, array);
  SmallVector<OpFoldResult> offsets(sizes.size(), builder.getIndexAttr(0)),
      strides(sizes.size(), builder.getIndexAttr(1));
  offsets[dim] = first;
  sizes[dim] = count;
  return memref::SubViewOp::create(builder, loc, array, offsets, sizes, strides);
}
