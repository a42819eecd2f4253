//===- UnpackDescriptors.cpp - array arguments of kernels as words --------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// MLIR's calling convention passes every field of a memref descriptor; moving unused fields was a
// third of a program's code. Kernels take only the fields that types leave unknown, the words of an
// array.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Codegen/CPU/Passes.h"
#include "bppsa/Support/DescriptorFields.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace bppsa {
#define GEN_PASS_DEF_UNPACKDESCRIPTORS
#include "bppsa/Codegen/CPU/Passes.h.inc"
} // namespace bppsa

using namespace mlir;
using namespace bppsa;

static bool isKernel(func::FuncOp function) {
  auto passthrough = function->getAttrOfType<ArrayAttr>("passthrough");
  return passthrough && !function->hasAttr("llvm.emit_c_interface") &&
         llvm::is_contained(passthrough, StringAttr::get(function.getContext(), "noinline"));
}

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

static memref::ReinterpretCastOp findView(Value array) {
  while (auto cast = array.getDefiningOp<memref::CastOp>())
    array = cast.getSource();
  auto view = array.getDefiningOp<memref::ReinterpretCastOp>();
  // The offset of a view is relative to the aligned address of its source.
  if (!view || !isArrayAtKnownOffset(view.getSource().getType()))
    return nullptr;
  return view;
}

static Value toWord(OpBuilder &builder, Location loc, OpFoldResult number, Type type) {
  if (std::optional<int64_t> constant = getConstantIntValue(number))
    return LLVM::ConstantOp::create(builder, loc, type, builder.getIndexAttr(*constant));
  return UnrealizedConversionCastOp::create(builder, loc, type, cast<Value>(number)).getResult(0);
}

static void readView(UnrealizedConversionCastOp cast, memref::ReinterpretCastOp view,
                     const LLVMTypeConverter &converter) {
  OpBuilder builder(cast);
  Location loc = cast.getLoc();
  ArrayLayout layout = *ArrayLayout::get(cast.getOperand(0).getType());
  auto makeWord = [&](OpFoldResult number) {
    return toWord(builder, loc, number, converter.getIndexType());
  };
  Value address = castToWords(builder, loc, view.getSource(), converter).front();
  OpFoldResult offset = view.getConstifiedMixedOffset();
  // The receiver adds an offset that is known from the type.
  if (ShapedType::isDynamic(layout.offset) && !isZeroInteger(offset))
    address = LLVM::GEPOp::create(builder, loc, address.getType(), layout.type.getElementType(),
                                  address, makeWord(offset));
  SmallVector<Value> words = {address};
  SmallVector<OpFoldResult> sizes = view.getConstifiedMixedSizes();
  SmallVector<OpFoldResult> strides = view.getConstifiedMixedStrides();
  SmallVector<SmallVector<int64_t, 2>> positions = layout.getWords();
  for (ArrayRef<int64_t> position : llvm::drop_begin(positions))
    words.push_back(makeWord((position.front() == kSizes ? sizes : strides)[position.back()]));
  cast->replaceAllUsesWith(words);
}

static void eraseUnused(Operation *op) {
  SetVector<Operation *> candidates;
  candidates.insert(op);
  while (!candidates.empty()) {
    Operation *candidate = candidates.pop_back_val();
    if (!isOpTriviallyDead(candidate))
      continue;
    for (Value operand : candidate->getOperands())
      if (Operation *definition = operand.getDefiningOp())
        candidates.insert(definition);
    candidate->erase();
  }
}

static void resolveViews(ModuleOp module, const LLVMTypeConverter &converter) {
  SmallVector<UnrealizedConversionCastOp> casts;
  module.walk([&](UnrealizedConversionCastOp cast) {
    if (isCastToWords(cast))
      casts.push_back(cast);
  });
  for (UnrealizedConversionCastOp cast : casts)
    if (memref::ReinterpretCastOp view = findView(cast.getOperand(0))) {
      readView(cast, view, converter);
      eraseUnused(cast);
    }
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
    resolveViews(getOperation(), converter);
  }
};
} // namespace
