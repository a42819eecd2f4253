//===- InputGradients.cpp - backward parts without gradients of inputs ----===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "ResidualCut.h"
#include "bppsa/Dialect/BPPSA/Analysis/Dependences.h"
#include "bppsa/Dialect/BPPSA/Analysis/MemoryAccesses.h"
#include "bppsa/Dialect/BPPSA/IR/DiscardableAttributes.h"
#include "bppsa/Dialect/BPPSA/Utils/ViewRoot.h"
#include "bppsa/Support/IndexArithmetic.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace bppsa;

namespace {
class LiveArrays {
public:
  explicit LiveArrays(Block &block) : block(block) {}

  void addArray(Value array) { arrays.insert(array); }
  void propagate();
  void eraseOthers();

private:
  void add(Operation *op);

  Block &block;
  llvm::SmallDenseSet<Value> arrays;
  llvm::SmallDenseSet<Operation *> operations;
};
} // namespace

void LiveArrays::add(Operation *op) {
  if (!operations.insert(op).second)
    return;
  for (Value used : getUsedValues(op)) {
    arrays.insert(getViewRoot(used));
    if (Operation *definition = used.getDefiningOp())
      add(definition);
  }
}

void LiveArrays::propagate() {
  for (size_t before = ~size_t(0); before != operations.size();) {
    before = operations.size();
    for (Operation &op : llvm::reverse(block))
      if (llvm::any_of(getWrittenArrays(&op), [&](Value array) { return arrays.contains(array); }))
        add(&op);
  }
}

void LiveArrays::eraseOthers() {
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block))) {
    auto dealloc = dyn_cast<memref::DeallocOp>(op);
    bool isLive = &op == block.getTerminator() || operations.contains(&op) ||
                  (dealloc && arrays.contains(dealloc.getMemref()));
    if (!isLive && op.use_empty())
      op.erase();
  }
}

static std::optional<unsigned> findInput(func::FuncOp function, unsigned i) {
  auto name = attrs::Gradient::ofArgument(function, i);
  for (unsigned input = 0, e = function.getNumArguments(); name && input < e; ++input)
    if (attrs::Input::ofArgument(function, input) == name)
      return input;
  return std::nullopt;
}

/// `argument` is still written, so temporary memory of the shape of `input` replaces it.
static void replaceByTemporary(func::FuncOp function, BlockArgument argument, Value input) {
  OpBuilder builder = OpBuilder::atBlockBegin(&function.front());
  auto type = cast<MemRefType>(argument.getType());
  SmallVector<Value> sizes;
  for (int64_t i = 0; i < type.getRank(); ++i)
    if (type.isDynamicDim(i))
      sizes.push_back(getDim(builder, argument.getLoc(), input, i));
  auto own = memref::AllocOp::create(builder, argument.getLoc(), type, sizes,
                                     builder.getI64IntegerAttr(kResidualAlignment));
  argument.replaceAllUsesWith(own);
  builder.setInsertionPoint(function.front().getTerminator());
  memref::DeallocOp::create(builder, argument.getLoc(), own);
}

LogicalResult bppsa::dropInputGradients(func::FuncOp function) {
  LiveArrays live(function.front());
  llvm::BitVector dropped(function.getNumArguments());
  for (BlockArgument argument : function.getArguments())
    if (findInput(function, argument.getArgNumber()))
      dropped.set(argument.getArgNumber());
    else
      live.addArray(argument);
  live.propagate();
  live.eraseOthers();
  for (unsigned i : dropped.set_bits())
    if (BlockArgument argument = function.getArgument(i); !argument.use_empty())
      replaceByTemporary(function, argument, function.getArgument(*findInput(function, i)));
  return function.eraseArguments(dropped);
}
