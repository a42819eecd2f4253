//===- UnpackDescriptors.cpp - arrays as arguments of kernels -------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// The calling convention of MLIR hands every number of a descriptor over, two addresses and as many
// sizes and strides as there are dimensions. Kernels know most of them from types, and code that
// moves what nobody reads was a third of all code of a program.
//
//===----------------------------------------------------------------------===//

#include "DescriptorFields.h"
#include "bppsa/Conversion/Passes.h"
#include "mlir/Conversion/LLVMCommon/MemRefBuilder.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/SymbolTable.h"

namespace bppsa {
#define GEN_PASS_DEF_UNPACKDESCRIPTORS
#include "bppsa/Conversion/Passes.h.inc"
} // namespace bppsa

using namespace mlir;
using namespace bppsa;

/// Whether nothing but calls of the program reaches `function`: kernels, and code that they share,
/// which are never inlined.
static bool isKernel(func::FuncOp function) {
  auto passthrough = function->getAttrOfType<ArrayAttr>("passthrough");
  return passthrough && !function->hasAttr("llvm.emit_c_interface") &&
         llvm::is_contained(passthrough, StringAttr::get(function.getContext(), "noinline"));
}

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

/// Makes the arguments of `function` words, which its body casts to what they are of.
static void unpackArguments(func::FuncOp function, const LLVMTypeConverter &converter) {
  FunctionType type = function.getFunctionType();
  SmallVector<Type> inputs;
  for (Type input : type.getInputs())
    llvm::append_range(inputs, getWordTypes(input, converter));
  function.setFunctionType(FunctionType::get(function.getContext(), inputs, type.getResults()));
  if (function.isExternal())
    return;
  Block &entry = function.front();
  OpBuilder builder = OpBuilder::atBlockBegin(&entry);
  for (Type input : type.getInputs()) {
    BlockArgument argument = entry.getArgument(0);
    SmallVector<Value> words;
    for (Type word : getWordTypes(input, converter))
      words.push_back(entry.addArgument(word, argument.getLoc()));
    argument.replaceAllUsesWith(castFromWords(builder, argument.getLoc(), input, words));
    entry.eraseArgument(0);
  }
}

static void unpackOperands(func::CallOp call, const LLVMTypeConverter &converter) {
  OpBuilder builder(call);
  SmallVector<Value> words;
  for (Value operand : call.getOperands())
    llvm::append_range(words, castToWords(builder, call.getLoc(), operand, converter));
  call->setOperands(words);
}

//===----------------------------------------------------------------------===//
// Casts
//===----------------------------------------------------------------------===//

static Value castTo(OpBuilder &builder, Location loc, Type type, Value value) {
  auto cast = value.getDefiningOp<UnrealizedConversionCastOp>();
  if (cast && cast.getNumOperands() == 1 && cast.getOperand(0).getType() == type)
    return cast.getOperand(0);
  return UnrealizedConversionCastOp::create(builder, loc, type, value).getResult(0);
}

/// Reads the words of the array that `cast` casts to them from its descriptor.
static void readWords(UnrealizedConversionCastOp cast, const LLVMTypeConverter &converter) {
  OpBuilder builder(cast);
  Location loc = cast.getLoc();
  Value array = cast.getOperand(0);
  ArrayLayout layout = *ArrayLayout::get(array.getType());
  MemRefDescriptor descriptor(castTo(builder, loc, converter.convertType(layout.type), array));
  // What takes the words knows an offset that the type tells.
  SmallVector<Value> words = {ShapedType::isDynamic(layout.offset)
                                  ? descriptor.bufferPtr(builder, loc, converter, layout.type)
                                  : descriptor.alignedPtr(builder, loc)};
  SmallVector<SmallVector<int64_t, 2>> positions = layout.getWords();
  for (ArrayRef<int64_t> position : llvm::drop_begin(positions))
    words.push_back(LLVM::ExtractValueOp::create(builder, loc, descriptor, position));
  cast->replaceAllUsesWith(words);
  cast->erase();
  // What makes the array for nobody else would need its whole descriptor.
  Operation *definition = array.getDefiningOp();
  if (definition && isa<UnrealizedConversionCastOp>(definition) && definition->use_empty())
    definition->erase();
}

namespace {
/// An array that arrives in words.
struct ReceivedArray {
  ReceivedArray(UnrealizedConversionCastOp cast, const LLVMTypeConverter &converter)
      : cast(cast), builder(cast), layout(*ArrayLayout::get(cast.getType(0))),
        converter(converter) {}

  /// Lets what reads fields of the descriptor have words and constants.
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

/// Resolves the casts of `module` between arrays and their words.
static void resolveCasts(ModuleOp module, const LLVMTypeConverter &converter) {
  SmallVector<UnrealizedConversionCastOp> toWords, fromWords;
  module.walk([&](UnrealizedConversionCastOp cast) {
    auto isPointer = llvm::IsaPred<LLVM::LLVMPointerType>;
    if (isa<MemRefType>(cast.getOperandTypes().front()) && isPointer(cast.getResultTypes().front()))
      toWords.push_back(cast);
    else if (isa<MemRefType>(cast.getResultTypes().front()) &&
             isPointer(cast.getOperandTypes().front()))
      fromWords.push_back(cast);
  });
  for (UnrealizedConversionCastOp cast : toWords)
    readWords(cast, converter);
  for (UnrealizedConversionCastOp cast : fromWords)
    ReceivedArray(cast, converter).resolve();
}

namespace {
struct UnpackDescriptors : public bppsa::impl::UnpackDescriptorsBase<UnpackDescriptors> {
  void runOnOperation() override {
    LLVMTypeConverter converter(&getContext());
    SymbolTable symbols(getOperation());
    getOperation().walk([&](func::CallOp call) {
      auto callee = symbols.lookup<func::FuncOp>(call.getCallee());
      if (callee && isKernel(callee))
        unpackOperands(call, converter);
    });
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (isKernel(function))
        unpackArguments(function, converter);
    resolveCasts(getOperation(), converter);
  }
};
} // namespace
