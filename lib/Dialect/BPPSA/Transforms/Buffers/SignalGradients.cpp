//===- SignalGradients.cpp - when gradients are final, parameters read ----===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Dialect/BPPSA/IR/BPPSAExchange.h"
#include "bppsa/Dialect/BPPSA/IR/DiscardableAttributes.h"
#include "bppsa/Dialect/BPPSA/Transforms/Buffers/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Interfaces/ViewLikeInterface.h"

namespace bppsa {
#define GEN_PASS_DEF_SIGNALGRADIENTS
#include "bppsa/Dialect/BPPSA/Transforms/Buffers/Passes.h.inc"
} // namespace bppsa

using namespace mlir;
using namespace bppsa;

namespace {
/// The first and the last operation of a function's block that use an array; null where none does.
struct Uses {
  void add(Operation *op) {
    if (!first || op->isBeforeInBlock(first))
      first = op;
    if (!last || last->isBeforeInBlock(op))
      last = op;
  }

  Operation *first = nullptr, *last = nullptr;
};
} // namespace

/// Whether `op` reads the sizes of `array` alone.
static bool isOfSizes(Operation *op) { return isa<memref::DimOp, memref::RankOp>(op); }

/// Whether memory that `op` takes may go where its uses are not seen: into its results, to
/// arguments of its regions, or out of a region.
static bool passesOn(Operation *op) {
  auto isMemory = [](Type type) { return isa<BaseMemRefType>(type); };
  auto takesMemory = [&](Block &block) { return llvm::any_of(block.getArgumentTypes(), isMemory); };
  return op->hasTrait<OpTrait::IsTerminator>() || llvm::any_of(op->getResultTypes(), isMemory) ||
         isa<memref::ExtractAlignedPointerAsIndexOp>(op) ||
         llvm::any_of(op->getRegions(),
                      [&](Region &region) { return llvm::any_of(region, takesMemory); });
}

/// What uses `array`, an argument of a function, through whatever view; nothing where that is not
/// known.
static std::optional<Uses> findUses(BlockArgument array) {
  Uses uses;
  SmallVector<Value> views = {array};
  while (!views.empty())
    for (Operation *user : views.pop_back_val().getUsers()) {
      auto view = dyn_cast<ViewLikeOpInterface>(user);
      if (view && isMemoryEffectFree(user)) {
        llvm::append_range(views, user->getResults());
        continue;
      }
      if (isOfSizes(user))
        continue;
      if (passesOn(user))
        return std::nullopt;
      uses.add(array.getOwner()->findAncestorOpInBlock(*user));
    }
  return uses;
}

/// The arguments of `function` with names of `Helper`, by the names.
template <typename Attribute>
static DenseMap<StringAttr, BlockArgument> findArguments(func::FuncOp function) {
  DenseMap<StringAttr, BlockArgument> arguments;
  for (BlockArgument argument : function.getArguments())
    if (StringAttr name = Attribute::ofArgument(function, argument.getArgNumber()))
      arguments[name] = argument;
  return arguments;
}

/// Puts the operations for `parameter` and its gradient into their block.
static void signal(BlockArgument parameter, BlockArgument gradient) {
  Block &block = *parameter.getOwner();
  Operation *first = &block.front(), *last = block.getTerminator()->getPrevNode();
  std::optional<Uses> read = findUses(parameter), written = findUses(gradient);
  if (read && written) {
    Uses all = *written;
    for (Operation *op : {read->first, read->last})
      if (op)
        all.add(op);
    if (all.first)
      first = all.first;
    if (written->last)
      last = written->last;
  }
  Location loc = gradient.getLoc();
  OpBuilder builder(first);
  AwaitParameterOp::create(builder, parameter.getLoc(), parameter);
  if (last)
    builder.setInsertionPointAfter(last);
  SignalGradientOp::create(builder, loc, gradient);
}

namespace {
struct SignalGradients : public bppsa::impl::SignalGradientsBase<SignalGradients> {
  using SignalGradientsBase::SignalGradientsBase;

  void runOnOperation() override {
    for (const std::string &name : functions) {
      auto function = getOperation().lookupSymbol<func::FuncOp>(name);
      if (!function || function.isExternal() || !llvm::hasSingleElement(function.getBody())) {
        getOperation().emitError() << "bppsa-signal-gradients: needs a function '" << name
                                   << "' of one block, found none; leave it out of 'functions'";
        return signalPassFailure();
      }
      auto parameters = findArguments<attrs::Parameter>(function);
      for (BlockArgument gradient : function.getArguments())
        if (StringAttr of = attrs::Gradient::ofArgument(function, gradient.getArgNumber()))
          if (BlockArgument parameter = parameters.lookup(of))
            signal(parameter, gradient);
    }
  }
};
} // namespace
