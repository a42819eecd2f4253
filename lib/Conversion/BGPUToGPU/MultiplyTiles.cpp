//===- MultiplyTiles.cpp - tile products on tensor cores ------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "MultiplyTiles.h"
#include "../../Codegen/GPU/FragmentLayout.h"
#include "ThreadEmitter.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace bppsa;

/// `first` is in the lower half.
Value TileMultiplication::roundToBF16(OpBuilder &builder, Value first, Value second) const {
  auto type = VectorType::get({2}, builder.getBF16Type());
  Value pair = NVVM::ConvertF32x2ToBF16x2Op::create(
      builder, loc, type, second, first, /*random_bits=*/Value(), NVVM::FPRoundingMode::RN);
  return LLVM::BitcastOp::create(builder, loc, builder.getI32Type(), pair);
}

/// The rest of a non-finite element is not finite either.
void TileMultiplication::addRounded(OpBuilder &builder, RoundedFragment &fragment,
                                    ValueRange elements) const {
  if (isBF16()) {
    fragment.high.push_back(roundToBF16(builder, elements[0], elements[1]));
    return;
  }
  auto round = [&](Value value) -> Value {
    return NVVM::ConvertFloatToTF32Op::create(builder, loc, builder.getI32Type(), value,
                                              NVVM::FPRoundingMode::RNA);
  };
  Value element = elements[0], high = round(element);
  fragment.high.push_back(high);
  if (precision != TensorPrecision::FP32)
    return;
  Value rounded = arith::BitcastOp::create(builder, loc, element.getType(), high);
  fragment.low.push_back(round(arith::SubFOp::create(builder, loc, element, rounded)));
}

SmallVector<Value> TileMultiplication::multiply(OpBuilder &builder, const RoundedFragment &a,
                                                const RoundedFragment &b, ValueRange sums) const {
  if (precision != TensorPrecision::FP32)
    return multiplyOnce(builder, a.high, b.high, sums);
  Value zero = arith::ConstantOp::create(builder, loc, builder.getF32FloatAttr(0));
  SmallVector<Value> parts(sums.size(), zero);
  parts = multiplyOnce(builder, a.low, b.high, parts);
  parts = multiplyOnce(builder, a.high, b.low, parts);
  parts = multiplyOnce(builder, a.high, b.high, parts);
  SmallVector<Value> results;
  for (auto [sum, part] : llvm::zip_equal(sums, parts))
    results.push_back(arith::AddFOp::create(builder, loc, sum, part));
  return results;
}

SmallVector<Value> TileMultiplication::multiplyOnce(OpBuilder &builder, ValueRange a, ValueRange b,
                                                    ValueRange sums) const {
  SmallVector<Type> types(sums.size(), builder.getF32Type());
  Type type = LLVM::LLVMStructType::getLiteral(builder.getContext(), types);
  std::array<NVVM::MMATypes, 2> factors;
  factors.fill(isBF16() ? NVVM::MMATypes::bf16 : NVVM::MMATypes::tf32);
  std::array<NVVM::MMALayout, 2> layouts = {NVVM::MMALayout::row, NVVM::MMALayout::col};
  Value product = NVVM::MmaOp::create(
      builder, loc, type, a, b, sums,
      {FragmentLayout::kRows, FragmentLayout::kColumns, getTileDepth(precision)},
      /*b1Op=*/std::nullopt, /*intOverflow=*/std::nullopt, factors, layouts);
  SmallVector<Value> entries;
  for (size_t i = 0; i < sums.size(); ++i)
    entries.push_back(LLVM::ExtractValueOp::create(builder, loc, product, i));
  return entries;
}

static Value getLater(Value a, Value b) {
  if (a.getParentBlock() != b.getParentBlock())
    return a.getParentRegion()->isAncestor(b.getParentRegion()) ? b : a;
  Operation *first = a.getDefiningOp(), *second = b.getDefiningOp();
  return second && (!first || first->isBeforeInBlock(second)) ? b : a;
}

/// Rounds elements after their definition, so that products share the result and invariant elements
/// are rounded before the loop.
RoundedFragment ThreadEmitter::round(OpBuilder &builder, const TileMultiplication &tiles,
                                     ValueRange numbers) {
  RoundedFragment fragment;
  size_t count = tiles.getElementsOfRegister();
  for (; !numbers.empty(); numbers = numbers.drop_front(count)) {
    ValueRange ofRegister = numbers.take_front(count);
    Value first = ofRegister.front(), last = ofRegister.back();
    auto key = std::tuple(static_cast<unsigned>(tiles.getPrecision()), first, last);
    auto [entry, isNew] = rounded.try_emplace(key);
    if (isNew) {
      OpBuilder::InsertionGuard guard(builder);
      builder.setInsertionPointAfterValue(getLater(first, last));
      tiles.addRounded(builder, entry->second, ofRegister);
    }
    llvm::append_range(fragment.high, entry->second.high);
    llvm::append_range(fragment.low, entry->second.low);
  }
  return fragment;
}

void ThreadEmitter::emitProduct(OpBuilder &builder, bgpu::MmaOp op) {
  Location loc = op.getLoc();
  TileMultiplication tiles(loc, op.getPrecision());
  RoundedFragment a = round(builder, tiles, getNumbers(builder, loc, op.getA()));
  RoundedFragment b = round(builder, tiles, getNumbers(builder, loc, op.getB()));
  SmallVector<Value> sums = tiles.multiply(builder, a, b, getNumbers(builder, loc, op.getC()));
  mapNumbers(builder, loc, op.getResult(), sums);
}
