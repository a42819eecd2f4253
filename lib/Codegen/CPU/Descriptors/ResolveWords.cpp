//===- ResolveWords.cpp - resolve words of arrays -------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Codegen/CPU/Passes.h"
#include "bppsa/Support/DescriptorFields.h"
#include "mlir/Conversion/LLVMCommon/MemRefBuilder.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

namespace bppsa {
#define GEN_PASS_DEF_RESOLVEWORDS
#include "bppsa/Codegen/CPU/Passes.h.inc"
} // namespace bppsa

using namespace mlir;
using namespace bppsa;

static Value castTo(OpBuilder &builder, Location loc, Type type, Value value) {
  auto cast = value.getDefiningOp<UnrealizedConversionCastOp>();
  if (cast && cast.getNumOperands() == 1 && cast.getOperand(0).getType() == type)
    return cast.getOperand(0);
  return UnrealizedConversionCastOp::create(builder, loc, type, value).getResult(0);
}

static void readWords(UnrealizedConversionCastOp cast, const LLVMTypeConverter &converter) {
  OpBuilder builder(cast);
  Location loc = cast.getLoc();
  Value array = cast.getOperand(0);
  ArrayLayout layout = *ArrayLayout::get(array.getType());
  MemRefDescriptor descriptor(castTo(builder, loc, converter.convertType(layout.type), array));
  // The receiver adds an offset that is known from the type.
  SmallVector<Value> words = {ShapedType::isDynamic(layout.offset)
                                  ? descriptor.bufferPtr(builder, loc, converter, layout.type)
                                  : descriptor.alignedPtr(builder, loc)};
  SmallVector<SmallVector<int64_t, 2>> positions = layout.getWords();
  for (ArrayRef<int64_t> position : llvm::drop_begin(positions))
    words.push_back(LLVM::ExtractValueOp::create(builder, loc, descriptor, position));
  cast->replaceAllUsesWith(words);
  cast->erase();
  // An unused cast that creates the array would need its whole descriptor.
  Operation *definition = array.getDefiningOp();
  if (definition && isa<UnrealizedConversionCastOp>(definition) && definition->use_empty())
    definition->erase();
}

namespace {
struct ReceivedArray {
  ReceivedArray(UnrealizedConversionCastOp cast, const LLVMTypeConverter &converter)
      : cast(cast), builder(cast), layout(*ArrayLayout::get(cast.getType(0))),
        converter(converter) {}

  void resolve();

private:
  Value getField(ArrayRef<int64_t> position);
  Value makeDescriptor();
  void replace(UnrealizedConversionCastOp descriptor);

  UnrealizedConversionCastOp cast;
  OpBuilder builder;
  ArrayLayout layout;
  const LLVMTypeConverter &converter;
};
} // namespace

Value ReceivedArray::getField(ArrayRef<int64_t> position) {
  if (std::optional<int64_t> constant = layout.getConstant(position))
    return LLVM::ConstantOp::create(builder, cast.getLoc(), converter.getIndexType(),
                                    builder.getIndexAttr(*constant));
  if (position.size() == 1)
    return cast.getOperand(0);
  for (auto [word, operand] : llvm::zip_equal(layout.getWords(), cast.getOperands()))
    if (ArrayRef(word) == position)
      return operand;
  llvm_unreachable("every field is a word or a constant");
}

Value ReceivedArray::makeDescriptor() {
  Location loc = cast.getLoc();
  Type type = converter.convertType(layout.type);
  Value descriptor = LLVM::PoisonOp::create(builder, loc, type);
  auto insert = [&](ArrayRef<int64_t> position) {
    descriptor =
        LLVM::InsertValueOp::create(builder, loc, descriptor, getField(position), position);
  };
  for (int64_t field : {kAllocated, kAligned, kOffset})
    insert(field);
  for (int64_t field : {kSizes, kStrides})
    for (int64_t dim = 0; dim < layout.type.getRank(); ++dim)
      insert({field, dim});
  return descriptor;
}

void ReceivedArray::replace(UnrealizedConversionCastOp descriptor) {
  for (Operation *user : llvm::make_early_inc_range(descriptor->getUsers())) {
    auto read = dyn_cast<LLVM::ExtractValueOp>(user);
    if (!read || isa<LLVM::LLVMArrayType>(read.getType()))
      continue;
    read.replaceAllUsesWith(getField(read.getPosition()));
    read.erase();
  }
  if (!descriptor->use_empty())
    descriptor->replaceAllUsesWith(ValueRange(makeDescriptor()));
  descriptor->erase();
}

void ReceivedArray::resolve() {
  Type type = converter.convertType(layout.type);
  for (Operation *user : llvm::make_early_inc_range(cast->getUsers()))
    if (auto descriptor = dyn_cast<UnrealizedConversionCastOp>(user))
      if (llvm::equal(descriptor.getResultTypes(), TypeRange(type)))
        replace(descriptor);
  if (!cast->use_empty())
    cast->replaceAllUsesWith(
        UnrealizedConversionCastOp::create(builder, cast.getLoc(), layout.type, makeDescriptor()));
  cast->erase();
}

namespace {
struct ResolveWords : public bppsa::impl::ResolveWordsBase<ResolveWords> {
  void runOnOperation() override {
    LLVMTypeConverter converter(&getContext());
    SmallVector<UnrealizedConversionCastOp> toWords, fromWords;
    getOperation().walk([&](UnrealizedConversionCastOp cast) {
      if (isCastToWords(cast))
        toWords.push_back(cast);
      else if (isCastFromWords(cast))
        fromWords.push_back(cast);
    });
    for (UnrealizedConversionCastOp cast : toWords)
      readWords(cast, converter);
    for (UnrealizedConversionCastOp cast : fromWords)
      ReceivedArray(cast, converter).resolve();
  }
};
} // namespace
