//===- TransposeVectors.cpp - small matrices in registers -----------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Support/TransposeVectors.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace bppsa;

// Every round interleaves the rows of the first half with those of the second.
SmallVector<Value> bppsa::transposeVectors(OpBuilder &builder, Location loc,
                                           SmallVector<Value> rows) {
  int64_t size = rows.size(), half = size / 2;
  SmallVector<int64_t> low, high;
  for (int64_t i = 0; i < half; ++i) {
    low.append({i, size + i});
    high.append({half + i, size + half + i});
  }
  for (int64_t round = 1; round < size; round *= 2) {
    SmallVector<Value> next;
    for (int64_t i = 0; i < half; ++i)
      for (ArrayRef<int64_t> mask : {low, high})
        next.push_back(vector::ShuffleOp::create(builder, loc, rows[i], rows[half + i], mask));
    rows = std::move(next);
  }
  return rows;
}
