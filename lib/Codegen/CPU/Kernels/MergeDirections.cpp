//===- MergeDirections.cpp - one kernel for both time directions ----------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// Kernels of recurrences and chains are the largest, are compiled once per instruction set, and
// occur twice in a bidirectional layer.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Codegen/CPU/Kernels/Passes.h"
#include "bppsa/Dialect/BPPSA/IR/BPPSA.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/SymbolTable.h"
#include "llvm/ADT/MapVector.h"

namespace bppsa {
#define GEN_PASS_DEF_MERGEDIRECTIONS
#include "bppsa/Codegen/CPU/Kernels/Passes.h.inc"
} // namespace bppsa

using namespace mlir;
using namespace bppsa;

namespace {
/// A kernel with one time loop, whose direction is cleared while kernels are compared.
struct DirectedKernel {
  func::FuncOp function;
  Operation *loop;
  bool reverse;
};
} // namespace

static DictionaryAttr getSignature(func::FuncOp function) {
  NamedAttrList attributes(function->getAttrDictionary());
  attributes.erase(SymbolTable::getSymbolAttrName());
  return attributes.getDictionary(function.getContext());
}

static bool isKernel(func::FuncOp function, const SymbolUserMap &users) {
  return function.isPrivate() && !function.isExternal() &&
         llvm::all_of(users.getUsers(function), llvm::IsaPred<func::CallOp>);
}

static SmallVector<SmallVector<DirectedKernel>> findKernels(ModuleOp module,
                                                            const SymbolUserMap &users) {
  llvm::MapVector<Attribute, SmallVector<DirectedKernel>> kernels;
  for (auto function : module.getOps<func::FuncOp>()) {
    if (!isKernel(function, users))
      continue;
    SmallVector<Operation *> loops = findDirectedLoops(function);
    if (loops.size() == 1 && !loops.front()->getParentOfType<ReverseIfOp>())
      kernels[getSignature(function)].push_back(
          {function, loops.front(), isReverse(loops.front())});
  }
  return llvm::map_to_vector(kernels, [](auto &entry) { return std::move(entry.second); });
}

static void addDirection(func::FuncOp function, Operation *loop) {
  Location loc = function.getLoc();
  OpBuilder builder(function.getContext());
  unsigned number = function.getNumArguments();
  (void)function.insertArgument(number, builder.getI1Type(), /*argAttrs=*/{}, loc);
  Operation *outermost = function.front().findAncestorOpInBlock(*loop);
  builder.setInsertionPoint(outermost);
  auto either = ReverseIfOp::create(builder, outermost->getLoc(), function.getArgument(number));
  outermost->moveBefore(builder.createBlock(&either.getBody()), either.getBody().front().begin());
}

static void redirectCalls(func::FuncOp kernel, func::FuncOp merged, bool turned,
                          const SymbolUserMap &users) {
  for (Operation *user : users.getUsers(kernel)) {
    auto call = cast<func::CallOp>(user);
    OpBuilder builder(call);
    Value direction =
        arith::ConstantOp::create(builder, call.getLoc(), builder.getBoolAttr(turned));
    call.getOperandsMutable().append(direction);
    call.setCallee(merged.getSymName());
  }
}

static bool areOpposite(DirectedKernel &a, DirectedKernel &b) {
  return a.reverse != b.reverse &&
         OperationEquivalence::isRegionEquivalentTo(&a.function.getBody(), &b.function.getBody(),
                                                    OperationEquivalence::IgnoreLocations);
}

static SmallVector<func::FuncOp> mergeKernels(MutableArrayRef<DirectedKernel> kernels,
                                              const SymbolUserMap &users) {
  SmallVector<func::FuncOp> merged;
  for (DirectedKernel &kernel : kernels)
    setReverse(kernel.loop, false);
  for (auto [i, first] : llvm::enumerate(kernels)) {
    auto isOther = [&one = first, &merged](DirectedKernel &two) {
      return !llvm::is_contained(merged, two.function) && areOpposite(one, two);
    };
    DirectedKernel *other = llvm::is_contained(merged, first.function)
                                ? kernels.end()
                                : llvm::find_if(kernels.drop_front(i + 1), isOther);
    setReverse(first.loop, first.reverse);
    if (other == kernels.end())
      continue;
    redirectCalls(first.function, first.function, /*turned=*/false, users);
    redirectCalls(other->function, first.function, /*turned=*/true, users);
    addDirection(first.function, first.loop);
    merged.push_back(other->function);
  }
  return merged;
}

namespace {
struct MergeDirectionsPass : bppsa::impl::MergeDirectionsBase<MergeDirectionsPass> {
  using MergeDirectionsBase::MergeDirectionsBase;

  void runOnOperation() override {
    SymbolTableCollection symbols;
    SymbolUserMap users(symbols, getOperation());
    SmallVector<func::FuncOp> merged;
    for (SmallVector<DirectedKernel> &kernels : findKernels(getOperation(), users))
      llvm::append_range(merged, mergeKernels(kernels, users));
    for (func::FuncOp kernel : merged)
      kernel.erase();
    numMerged += merged.size();
  }
};
} // namespace
