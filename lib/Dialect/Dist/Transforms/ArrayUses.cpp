//===- ArrayUses.cpp - uses of arrays in a function -----------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "ArrayUses.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Interfaces/ViewLikeInterface.h"

using namespace mlir;
using namespace bppsa;

void ArrayUses::add(Operation *op) {
  if (!first || op->isBeforeInBlock(first))
    first = op;
  if (!last || last->isBeforeInBlock(op))
    last = op;
}

static bool isOfSizes(Operation *op) { return isa<memref::DimOp, memref::RankOp>(op); }

/// Returns true if `op` may pass memory on to users that are not tracked: through results, through
/// arguments of its regions, or out of a region.
static bool mayEscape(Operation *op) {
  auto isMemory = [](Type type) { return isa<BaseMemRefType>(type); };
  auto takesMemory = [&](Block &block) { return llvm::any_of(block.getArgumentTypes(), isMemory); };
  return op->hasTrait<OpTrait::IsTerminator>() || llvm::any_of(op->getResultTypes(), isMemory) ||
         isa<memref::ExtractAlignedPointerAsIndexOp>(op) ||
         llvm::any_of(op->getRegions(),
                      [&](Region &region) { return llvm::any_of(region, takesMemory); });
}

std::optional<ArrayUses> bppsa::findUses(BlockArgument array) {
  ArrayUses uses;
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
      if (mayEscape(user))
        return std::nullopt;
      uses.add(array.getOwner()->findAncestorOpInBlock(*user));
    }
  return uses;
}
