//===- TransposeVectors.cpp - transposes small matrices in registers ------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Support/TransposeVectors.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace bppsa;

static Value join(OpBuilder &builder, Location loc, ArrayRef<Value> parts) {
  if (parts.size() == 1)
    return parts.front();
  Value low = join(builder, loc, parts.take_front(parts.size() / 2));
  Value high = join(builder, loc, parts.drop_front(parts.size() / 2));
  int64_t size = 2 * cast<VectorType>(low.getType()).getNumElements();
  return vector::ShuffleOp::create(builder, loc, low, high,
                                   llvm::to_vector(llvm::seq<int64_t>(size)));
}

/// Matrix i consists of the i-th four elements of each vector.
static SmallVector<Value> transposeParts(OpBuilder &builder, Location loc, ArrayRef<Value> rows) {
  int64_t size = cast<VectorType>(rows.front().getType()).getNumElements();
  auto shuffle = [&](Value first, Value second, ArrayRef<int64_t> ofPart) -> Value {
    SmallVector<int64_t> mask;
    for (int64_t part = 0; part < size; part += 4)
      for (int64_t element : ofPart)
        mask.push_back(part + (element < 4 ? element : size + element - 4));
    return vector::ShuffleOp::create(builder, loc, first, second, mask);
  };
  static constexpr int64_t halves[2][4] = {{0, 4, 1, 5}, {2, 6, 3, 7}};
  SmallVector<Value> columns;
  for (const auto &half : halves) {
    Value first = shuffle(rows[0], rows[1], half), second = shuffle(rows[2], rows[3], half);
    columns.push_back(shuffle(first, second, {0, 1, 4, 5}));
    columns.push_back(shuffle(first, second, {2, 3, 6, 7}));
  }
  return columns;
}

SmallVector<Value> bppsa::transposeRowsOfFour(OpBuilder &builder, Location loc,
                                              ArrayRef<Value> rows) {
  SmallVector<Value> joined;
  for (size_t i = 0; i < 4; ++i) {
    SmallVector<Value> parts;
    for (size_t row = i; row < rows.size(); row += 4)
      parts.push_back(rows[row]);
    joined.push_back(join(builder, loc, parts));
  }
  return transposeParts(builder, loc, joined);
}

SmallVector<Value> bppsa::transposeFourColumns(OpBuilder &builder, Location loc,
                                               ArrayRef<Value> columns) {
  SmallVector<Value> joined = transposeParts(builder, loc, columns), rows;
  int64_t size = cast<VectorType>(columns.front().getType()).getNumElements();
  for (int64_t row = 0; row < size; ++row) {
    Value source = joined[row % 4];
    int64_t first = row - row % 4;
    rows.push_back(vector::ShuffleOp::create(builder, loc, source, source,
                                             llvm::to_vector(llvm::seq(first, first + 4))));
  }
  return rows;
}
