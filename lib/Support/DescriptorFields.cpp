//===- DescriptorFields.cpp - passes arrays as words ----------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Support/DescriptorFields.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;
using namespace bppsa;

std::optional<ArrayLayout> ArrayLayout::get(Type type) {
  ArrayLayout layout{dyn_cast<MemRefType>(type), {}, 0};
  if (!layout.type || failed(layout.type.getStridesAndOffset(layout.strides, layout.offset)))
    return std::nullopt;
  return layout;
}

std::optional<int64_t> ArrayLayout::getConstant(ArrayRef<int64_t> position) const {
  if (position.front() <= kAligned)
    return std::nullopt;
  if (position.front() == kOffset)
    return ShapedType::isDynamic(offset) ? 0 : offset;
  int64_t number =
      position.front() == kSizes ? type.getDimSize(position.back()) : strides[position.back()];
  return ShapedType::isDynamic(number) ? std::nullopt : std::optional<int64_t>(number);
}

SmallVector<SmallVector<int64_t, 2>> ArrayLayout::getWords() const {
  SmallVector<SmallVector<int64_t, 2>> words = {{kAligned}};
  for (int64_t field : {kSizes, kStrides})
    for (int64_t dim = 0; dim < type.getRank(); ++dim)
      if (!getConstant({field, dim}))
        words.push_back({field, dim});
  return words;
}

bool bppsa::isArrayAtKnownOffset(Type type) {
  std::optional<ArrayLayout> layout = ArrayLayout::get(type);
  return layout && !ShapedType::isDynamic(layout->offset);
}

static bool isArrayAndWords(TypeRange array, TypeRange words) {
  return isa<MemRefType>(array.front()) && isa<LLVM::LLVMPointerType>(words.front());
}

bool bppsa::isCastToWords(UnrealizedConversionCastOp cast) {
  return isArrayAndWords(cast.getOperandTypes(), cast.getResultTypes());
}

bool bppsa::isCastFromWords(UnrealizedConversionCastOp cast) {
  return isArrayAndWords(cast.getResultTypes(), cast.getOperandTypes());
}

SmallVector<Type> bppsa::getWordTypes(Type type, const LLVMTypeConverter &converter) {
  Type converted = converter.convertType(type);
  std::optional<ArrayLayout> layout = ArrayLayout::get(type);
  if (!layout)
    return {converted};
  SmallVector<Type> types(layout->getWords().size(), converter.getIndexType());
  types.front() = cast<LLVM::LLVMStructType>(converted).getBody().front();
  return types;
}

SmallVector<Value> bppsa::castToWords(OpBuilder &builder, Location loc, Value value,
                                      const LLVMTypeConverter &converter) {
  SmallVector<Type> types = getWordTypes(value.getType(), converter);
  if (TypeRange(types) == TypeRange(value))
    return {value};
  return UnrealizedConversionCastOp::create(builder, loc, types, value).getResults();
}

Value bppsa::castFromWords(OpBuilder &builder, Location loc, Type type, ValueRange words) {
  return UnrealizedConversionCastOp::create(builder, loc, type, words).getResult(0);
}
