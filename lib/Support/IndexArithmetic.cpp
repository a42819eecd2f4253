//===- IndexArithmetic.cpp - sizes and sums of indices --------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Support/IndexArithmetic.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace bppsa;

Value bppsa::getIndex(OpBuilder &builder, Location loc, int64_t value) {
  return arith::ConstantIndexOp::create(builder, loc, value);
}

Value bppsa::addIndex(OpBuilder &builder, Location loc, Value value, int64_t offset) {
  if (offset == 0)
    return value;
  return builder.createOrFold<arith::AddIOp>(loc, value, getIndex(builder, loc, offset));
}

Value bppsa::getDim(OpBuilder &builder, Location loc, Value array, int64_t dimension) {
  return builder.createOrFold<memref::DimOp>(loc, array, dimension);
}

SmallVector<Value> bppsa::splitIndex(OpBuilder &builder, Location loc, Value value,
                                     ValueRange sizes) {
  SmallVector<Value> digits(sizes.size());
  for (size_t i = sizes.size(); i-- > 1;) {
    digits[i] = builder.createOrFold<arith::RemUIOp>(loc, value, sizes[i]);
    value = builder.createOrFold<arith::DivUIOp>(loc, value, sizes[i]);
  }
  if (!digits.empty())
    digits[0] = value;
  return digits;
}
