//===- TensorTile.cpp - products of tiles on tensor cores -----------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "TensorTile.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;
using namespace bppsa;

/// Threads that have a row of A or C, or a column of B, together.
static constexpr int64_t kGroupThreads = 4;

void TensorTile::begin(OpBuilder &builder, Value thread) {
  Value groups = getIndex(builder, loc, kWarpThreads / kGroupThreads);
  SmallVector<Value> digits =
      splitIndex(builder, loc, thread, {Value(), groups, getIndex(builder, loc, kGroupThreads)});
  group = digits[1];
  inGroup = digits[2];
}

TensorTile::Fragment TensorTile::readA(OpBuilder &builder, Read read) const {
  return readFactor(builder, {0, 8}, [&](int64_t row, Value depth) {
    return read(builder, addIndex(builder, loc, group, row), depth);
  });
}

TensorTile::Fragment TensorTile::readB(OpBuilder &builder, Read read) const {
  return readFactor(builder, {0},
                    [&](int64_t, Value depth) { return read(builder, depth, group); });
}

/// A thread has elements in two places of the depth, or pairs of neighbours, in each of
/// `rows`.
TensorTile::Fragment
TensorTile::readFactor(OpBuilder &builder, ArrayRef<int64_t> rows,
                       function_ref<Value(int64_t row, Value depth)> read) const {
  Fragment fragment;
  for (int64_t half = 0; half < 2; ++half)
    for (int64_t row : rows) {
      if (!isBF16()) {
        addRounded(builder, fragment, read(row, addIndex(builder, loc, inGroup, half * 4)));
        continue;
      }
      Value pair = mulIndex(builder, loc, inGroup, getIndex(builder, loc, 2));
      Value first = read(row, addIndex(builder, loc, pair, half * 8));
      Value second = read(row, addIndex(builder, loc, pair, half * 8 + 1));
      fragment.high.push_back(roundToBF16(builder, first, second));
    }
  return fragment;
}

Value TensorTile::getRow(OpBuilder &builder, int64_t i) const {
  return addIndex(builder, loc, group, i / 2 * 8);
}

Value TensorTile::getColumn(OpBuilder &builder, int64_t i) const {
  return addIndex(builder, loc, mulIndex(builder, loc, inGroup, getIndex(builder, loc, 2)), i % 2);
}

/// Two numbers in one register, the first in its lower half.
Value TensorTile::roundToBF16(OpBuilder &builder, Value first, Value second) const {
  auto type = VectorType::get({2}, builder.getBF16Type());
  Value pair = NVVM::ConvertF32x2ToBF16x2Op::create(
      builder, loc, type, second, first, /*random_bits=*/Value(), NVVM::FPRoundingMode::RN);
  return LLVM::BitcastOp::create(builder, loc, builder.getI32Type(), pair);
}

/// What is not a finite number leaves none in the rest, so it is not lost.
void TensorTile::addRounded(OpBuilder &builder, Fragment &fragment, Value element) const {
  auto round = [&](Value value) -> Value {
    return NVVM::ConvertFloatToTF32Op::create(builder, loc, builder.getI32Type(), value,
                                              NVVM::FPRoundingMode::RNA);
  };
  Value high = round(element);
  fragment.high.push_back(high);
  if (precision != TensorPrecision::FP32)
    return;
  Value rounded = arith::BitcastOp::create(builder, loc, element.getType(), high);
  fragment.low.push_back(round(arith::SubFOp::create(builder, loc, element, rounded)));
}

SmallVector<Value> TensorTile::multiply(OpBuilder &builder, const Fragment &a, const Fragment &b,
                                        ValueRange sums) const {
  if (precision != TensorPrecision::FP32)
    return multiplyOnce(builder, a.high, b.high, sums);
  Value zero = arith::ConstantOp::create(builder, loc, builder.getF32FloatAttr(0));
  SmallVector<Value> parts(kEntries, zero);
  parts = multiplyOnce(builder, a.low, b.high, parts);
  parts = multiplyOnce(builder, a.high, b.low, parts);
  parts = multiplyOnce(builder, a.high, b.high, parts);
  SmallVector<Value> results;
  for (auto [sum, part] : llvm::zip_equal(sums, parts))
    results.push_back(arith::AddFOp::create(builder, loc, sum, part));
  return results;
}

SmallVector<Value> TensorTile::multiplyOnce(OpBuilder &builder, ValueRange a, ValueRange b,
                                            ValueRange sums) const {
  SmallVector<Type> types(kEntries, builder.getF32Type());
  Type type = LLVM::LLVMStructType::getLiteral(builder.getContext(), types);
  std::array<NVVM::MMATypes, 2> factors;
  factors.fill(isBF16() ? NVVM::MMATypes::bf16 : NVVM::MMATypes::tf32);
  std::array<NVVM::MMALayout, 2> layouts = {NVVM::MMALayout::row, NVVM::MMALayout::col};
  Value product =
      NVVM::MmaOp::create(builder, loc, type, a, b, sums, {kRows, kColumns, getDepth()},
                          /*b1Op=*/std::nullopt, /*intOverflow=*/std::nullopt, factors, layouts);
  SmallVector<Value> entries;
  for (int64_t i = 0; i < kEntries; ++i)
    entries.push_back(LLVM::ExtractValueOp::create(builder, loc, product, i));
  return entries;
}
