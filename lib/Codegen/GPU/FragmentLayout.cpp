//===- FragmentLayout.cpp - fragments of tensor core tiles ----------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "FragmentLayout.h"

using namespace mlir;
using namespace bppsa;

SmallVector<Value> FragmentLayout::readA(OpBuilder &builder, Read read) const {
  return readFactor(builder, {0, 8}, [&](int64_t row, Value depth) {
    return read(builder, addIndex(builder, loc, group, row), depth);
  });
}

SmallVector<Value> FragmentLayout::readB(OpBuilder &builder, Read read) const {
  return readFactor(builder, {0},
                    [&](int64_t, Value depth) { return read(builder, depth, group); });
}

SmallVector<Value>
FragmentLayout::readFactor(OpBuilder &builder, ArrayRef<int64_t> rows,
                           function_ref<Value(int64_t row, Value depth)> read) const {
  bool hasPairs = precision == TensorPrecision::BF16;
  SmallVector<Value> elements;
  for (int64_t half = 0; half < 2; ++half)
    for (int64_t row : rows) {
      if (!hasPairs) {
        elements.push_back(read(row, addIndex(builder, loc, inGroup, half * 4)));
        continue;
      }
      Value pair = mulIndex(builder, loc, inGroup, getIndex(builder, loc, 2));
      for (int64_t i : {0, 1})
        elements.push_back(read(row, addIndex(builder, loc, pair, half * 8 + i)));
    }
  return elements;
}

Value FragmentLayout::getRow(OpBuilder &builder, int64_t i) const {
  return addIndex(builder, loc, group, i / 2 * 8);
}

Value FragmentLayout::getColumn(OpBuilder &builder, int64_t i) const {
  return addIndex(builder, loc, mulIndex(builder, loc, inGroup, getIndex(builder, loc, 2)), i % 2);
}
