//===- SeparateBackward.cpp - splits forward and backward parts -----------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// Runs after bufferization, so that both parts run the same kernels on the same layouts and give
// identical bits.
//
//===----------------------------------------------------------------------===//

#include "ResidualBlock.h"
#include "SizeFormulas.h"
#include "bppsa/Dialect/BPPSA/Analysis/Dependences.h"
#include "bppsa/Dialect/BPPSA/IR/DiscardableAttributes.h"
#include "bppsa/Dialect/BPPSA/Transforms/Buffers/Passes.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/IRMapping.h"

namespace bppsa {
#define GEN_PASS_DEF_SEPARATEBACKWARD
#include "bppsa/Dialect/BPPSA/Transforms/Buffers/Passes.h.inc"
} // namespace bppsa

using namespace mlir;
using namespace bppsa;

static BlockArgument addBlock(func::FuncOp part) {
  auto bytes = MemRefType::get({ShapedType::kDynamic}, IntegerType::get(part.getContext(), 8));
  unsigned number = part.getNumArguments();
  (void)part.insertArgument(number, bytes, DictionaryAttr(), part.getLoc());
  return part.getArgument(number);
}

/// Identical functions of variants must not be merged: a program exports each.
static void preventMerging(func::FuncOp made) {
  Builder builder(made.getContext());
  made->setAttr("passthrough",
                builder.getArrayAttr(builder.getStrArrayAttr({"bppsa-part", made.getName()})));
}

static LogicalResult emitResidualBytes(func::FuncOp function, const ResidualCut &cut,
                                       unsigned numSymbols) {
  OpBuilder builder(function);
  Location loc = function.getLoc();
  SmallVector<Type> inputs(numSymbols, builder.getIndexType());
  auto made = func::FuncOp::create(builder, loc, getResidualBytesName(function.getName()),
                                   builder.getFunctionType(inputs, builder.getIndexType()));
  preventMerging(made);
  builder.setInsertionPointToStart(made.addEntryBlock());
  SizeFormulas formulas(function, builder, made.getArguments());
  FailureOr<Value> bytes = emitBlockSize(builder, loc, cut, formulas);
  if (failed(bytes))
    return failure();
  func::ReturnOp::create(builder, loc, *bytes);
  return success();
}

static func::FuncOp createPart(func::FuncOp function, StringRef name, IRMapping &mapping) {
  OpBuilder builder(function);
  func::FuncOp part = function.clone(mapping);
  builder.insert(part);
  part.setName(name);
  preventMerging(part);
  return part;
}

static void eraseCopies(func::FuncOp function, IRMapping &mapping,
                        function_ref<bool(Operation *)> isErased) {
  for (Operation &op : llvm::reverse(function.front().without_terminator()))
    if (Operation *copy = mapping.lookupOrNull(&op);
        copy && (isa<MarkPhaseOp>(op) || isErased(&op)))
      copy->erase();
}

/// Fails if an erased argument is used.
static LogicalResult eraseArguments(func::FuncOp part, function_ref<bool(unsigned)> isErased) {
  llvm::BitVector erased(part.getNumArguments());
  for (BlockArgument argument : part.getArguments()) {
    if (!isErased(argument.getArgNumber()))
      continue;
    if (!argument.use_empty())
      return (*argument.user_begin())->emitOpError("uses an argument of the other part");
    erased.set(argument.getArgNumber());
  }
  return part.eraseArguments(erased);
}

static bool freesArray(Operation *op, const ResidualCut &cut) {
  auto dealloc = dyn_cast<memref::DeallocOp>(op);
  return dealloc && llvm::is_contained(cut.arrays, dealloc.getMemref().getDefiningOp());
}

static LogicalResult createForward(func::FuncOp function, const ResidualCut &cut,
                                   bool clearUnwritten) {
  IRMapping mapping;
  func::FuncOp part = createPart(function, getForwardName(function.getName()), mapping);
  Value bytes = addBlock(part);
  eraseCopies(function, mapping,
              [&](Operation *op) { return !cut.forward.contains(op) || freesArray(op, cut); });
  OpBuilder builder = OpBuilder::atBlockBegin(&part.front());
  ResidualBlock block(builder, bytes, cut);
  for (auto [i, number] : llvm::enumerate(cut.numbers)) {
    Value copy = mapping.lookup(number);
    builder.setInsertionPointAfterValue(copy);
    memref::StoreOp::create(builder, number.getLoc(), copy, block.getNumber(i, number.getType()));
  }
  for (memref::AllocOp array : cut.arrays) {
    auto copy = mapping.lookup(array.getResult()).getDefiningOp<memref::AllocOp>();
    builder.setInsertionPoint(copy);
    Value view = block.takeArray(copy, copy.getDynamicSizes());
    if (clearUnwritten && cut.partial.contains(array.getResult()))
      fillWithZeros(builder, view);
    copy.replaceAllUsesWith(view);
    copy.erase();
  }
  // Kernels do not wait for the gaps to be cleared.
  builder.setInsertionPoint(part.front().getTerminator());
  if (clearUnwritten)
    block.clearGaps();
  block.reportSize(part->getParentOfType<ModuleOp>());
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(part.front())))
    if (isOpTriviallyDead(&op))
      op.erase();
  return eraseArguments(part, [&](unsigned i) {
    return attrs::Target::ofArgument(part, i) || attrs::Gradient::ofArgument(part, i);
  });
}

namespace {
class BackwardStart {
public:
  BackwardStart(func::FuncOp function, func::FuncOp part, const ResidualCut &cut)
      : cut(cut), builder(OpBuilder::atBlockBegin(&part.front())),
        block(builder, addBlock(part), cut) {
    mapping.map(function.getArguments(),
                part.getArguments().take_front(function.getNumArguments()));
  }

  void readBlock();
  Value get(Value value);

private:
  Value copyChanged(memref::AllocOp array, Value kept, ValueRange sizes);

  const ResidualCut &cut;
  OpBuilder builder;
  ResidualBlock block;
  IRMapping mapping;
};
} // namespace

/// The backward part may run again, so arrays that it changes are copied.
Value BackwardStart::copyChanged(memref::AllocOp array, Value kept, ValueRange sizes) {
  auto own = memref::AllocOp::create(builder, array.getLoc(), array.getType(), sizes,
                                     array.getAlignmentAttr());
  memref::CopyOp::create(builder, array.getLoc(), kept, own);
  return own;
}

void BackwardStart::readBlock() {
  for (auto [i, number] : llvm::enumerate(cut.numbers))
    mapping.map(number, memref::LoadOp::create(builder, number.getLoc(),
                                               block.getNumber(i, number.getType()))
                            .getResult());
  for (memref::AllocOp array : cut.arrays) {
    SmallVector<Value> sizes;
    for (Value size : array.getDynamicSizes())
      sizes.push_back(get(size));
    Value kept = block.takeArray(array, sizes);
    bool isChanged = cut.written.contains(array.getResult());
    mapping.map(array.getResult(), isChanged ? copyChanged(array, kept, sizes) : kept);
  }
}

Value BackwardStart::get(Value value) {
  if (Value known = mapping.lookupOrNull(value))
    return known;
  Operation *op = value.getDefiningOp();
  for (Value used : getUsedValues(op))
    get(used);
  builder.clone(*op, mapping);
  return mapping.lookup(value);
}

static LogicalResult createBackward(func::FuncOp function, const ResidualCut &cut) {
  IRMapping mapping;
  func::FuncOp part = createPart(function, getBackwardName(function.getName()), mapping);
  BackwardStart start(function, part, cut);
  start.readBlock();
  for (Operation &op : function.front()) {
    if (cut.forward.contains(&op))
      continue;
    for (Value used : getUsedValues(&op))
      if (Operation *definition = used.getDefiningOp();
          definition && cut.forward.contains(definition))
        mapping.lookup(used).replaceAllUsesWith(start.get(used));
  }
  eraseCopies(function, mapping, [&](Operation *op) {
    auto dealloc = dyn_cast<memref::DeallocOp>(op);
    return cut.forward.contains(op) ||
           (freesArray(op, cut) && !cut.written.contains(dealloc.getMemref()));
  });
  if (failed(eraseArguments(part,
                            [&](unsigned i) { return bool(attrs::Output::ofArgument(part, i)); })))
    return failure();
  IRMapping copies;
  return dropInputGradients(createPart(part, getParameterBackwardName(function.getName()), copies));
}

namespace {
struct SeparateBackward : public bppsa::impl::SeparateBackwardBase<SeparateBackward> {
  using SeparateBackwardBase::SeparateBackwardBase;

  void runOnOperation() override {
    SymbolsAttr symbols = attrs::Symbols::of(getOperation());
    for (auto function : llvm::make_early_inc_range(getOperation().getOps<func::FuncOp>()))
      if (MarkPhaseOp mark = findBackwardMark(function))
        if (failed(separate(function, mark, symbols ? symbols.getNames().size() : 0)))
          return signalPassFailure();
  }

private:
  LogicalResult separate(func::FuncOp function, MarkPhaseOp mark, unsigned numSymbols) {
    FailureOr<ResidualCut> cut = findResiduals(function, mark, numSymbols);
    if (failed(cut) || failed(emitResidualBytes(function, *cut, numSymbols)))
      return failure();
    if (!keepNumbers && !cut->numbers.empty())
      return cut->numbers.front().getDefiningOp()->emitOpError(
          "computes a scalar that the backward part uses and that cannot be kept");
    if (failed(createForward(function, *cut, clearUnwritten)) ||
        failed(createBackward(function, *cut)))
      return failure();
    function.erase();
    return success();
  }
};
} // namespace
