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
// Views
//===----------------------------------------------------------------------===//

/// The view that `array` is, also under a type that knows less.
static memref::ReinterpretCastOp findView(Value array) {
  while (auto cast = array.getDefiningOp<memref::CastOp>())
    array = cast.getSource();
  auto view = array.getDefiningOp<memref::ReinterpretCastOp>();
  // The offset of a view counts from where its source has its aligned address, and the word of a
  // source with an open offset is another address.
  if (!view || !isArrayAtKnownOffset(view.getSource().getType()))
    return nullptr;
  return view;
}

static Value toWord(OpBuilder &builder, Location loc, OpFoldResult number, Type type) {
  if (std::optional<int64_t> constant = getConstantIntValue(number))
    return LLVM::ConstantOp::create(builder, loc, type, builder.getIndexAttr(*constant));
  return UnrealizedConversionCastOp::create(builder, loc, type, cast<Value>(number)).getResult(0);
}

/// Takes the words that `cast` casts `view` to from what the view is made of, so that nothing
/// needs its descriptor.
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
  // What takes the words knows an offset that the type tells.
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

/// Erases `op`, which nothing uses, and what it alone has used.
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

/// Lets casts of views to words do without the views.
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
