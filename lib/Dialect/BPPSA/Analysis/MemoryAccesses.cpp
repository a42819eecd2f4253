//===- MemoryAccesses.cpp - memory accesses of kernel calls ---------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Dialect/BPPSA/Analysis/MemoryAccesses.h"
#include "bppsa/Dialect/BPPSA/Analysis/Dependences.h"
#include "bppsa/Dialect/BPPSA/Utils/ViewRoot.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace bppsa;

llvm::SmallDenseSet<Value> bppsa::getWrittenArrays(Operation *op) {
  llvm::SmallDenseSet<Value> written;
  std::optional<SmallVector<MemoryEffects::EffectInstance>> effects = getEffectsRecursively(op);
  bool isKnown = effects.has_value();
  for (const MemoryEffects::EffectInstance &effect :
       effects.value_or(SmallVector<MemoryEffects::EffectInstance>())) {
    if (!isa<MemoryEffects::Write>(effect.getEffect()))
      continue;
    Value root = effect.getValue() ? getViewRoot(effect.getValue()) : Value();
    // A value carried by a loop may be any array.
    isKnown &= root && (root.getDefiningOp() || root.getParentBlock()->isEntryBlock());
    if (root)
      written.insert(root);
  }
  if (!isKnown)
    for (Value used : getUsedValues(op))
      written.insert(getViewRoot(used));
  return written;
}

std::optional<unsigned> bppsa::getViewedArgument(func::FuncOp function, Value value) {
  auto argument = dyn_cast<BlockArgument>(getViewRoot(value));
  if (!argument || argument.getOwner() != &function.front())
    return std::nullopt;
  return argument.getArgNumber();
}

static void addWrites(func::FuncOp function, Operation *op, llvm::BitVector &writes) {
  auto interface = dyn_cast<MemoryEffectOpInterface>(op);
  if (!interface) {
    if (!op->hasTrait<OpTrait::HasRecursiveMemoryEffects>() && !isMemoryEffectFree(op))
      writes.set();
    return;
  }
  SmallVector<MemoryEffects::EffectInstance> effects;
  interface.getEffects(effects);
  for (const MemoryEffects::EffectInstance &effect : effects) {
    if (!isa<MemoryEffects::Write>(effect.getEffect()))
      continue;
    std::optional<unsigned> argument =
        effect.getValue() ? getViewedArgument(function, effect.getValue()) : std::nullopt;
    if (argument)
      writes.set(*argument);
    else if (!effect.getValue() || !getViewRoot(effect.getValue()).getDefiningOp())
      writes.set();
  }
}

llvm::BitVector bppsa::getWrittenArguments(func::FuncOp function) {
  llvm::BitVector writes(function.getNumArguments(), function.isExternal());
  if (!function.isExternal())
    function.getBody().walk([&](Operation *op) { addWrites(function, op, writes); });
  return writes;
}

std::optional<SmallVector<MemoryAccess>>
bppsa::getArrayAccesses(ValueRange operands, function_ref<bool(unsigned)> isWritten) {
  SmallVector<MemoryAccess> accesses;
  for (auto [i, operand] : llvm::enumerate(operands)) {
    if (!isa<MemRefType>(operand.getType()))
      continue;
    Value root = getViewRoot(operand);
    if (!isa<BlockArgument>(root) && !root.getDefiningOp<memref::AllocOp>())
      return std::nullopt;
    auto *known = llvm::find_if(accesses, [&](const MemoryAccess &a) { return a.array == root; });
    if (known == accesses.end())
      known = accesses.insert(known, {root, false});
    known->isWrite |= isWritten(i);
  }
  return accesses;
}

bool bppsa::conflict(ArrayRef<MemoryAccess> a, ArrayRef<MemoryAccess> b) {
  return llvm::any_of(a, [&](const MemoryAccess &first) {
    return llvm::any_of(b, [&](const MemoryAccess &second) {
      return first.array == second.array && (first.isWrite || second.isWrite);
    });
  });
}
