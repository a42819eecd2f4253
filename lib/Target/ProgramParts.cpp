//===- ProgramParts.cpp - a program cut for code generation ---------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Target/ProgramParts.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace bppsa;

/// A measure of the code of `function` that is good enough to balance groups.
static int64_t countOperations(func::FuncOp function) {
  int64_t count = 0;
  function.walk([&](Operation *) { ++count; });
  return count;
}

/// An empty module with the attributes of `module`.
static OwningOpRef<ModuleOp> createLike(ModuleOp module) {
  OwningOpRef<ModuleOp> created = ModuleOp::create(module.getLoc());
  (*created)->setAttrs(module->getAttrs());
  return created;
}

static bool isKernel(Operation &op) {
  auto function = dyn_cast<func::FuncOp>(op);
  return function && function.isPrivate() && !function.isExternal();
}

/// The functions that call kernels, beside declarations of the kernels.
static OwningOpRef<ModuleOp> extractHost(ModuleOp module) {
  OwningOpRef<ModuleOp> host = createLike(module);
  OpBuilder builder = OpBuilder::atBlockEnd(host->getBody());
  for (Operation &op : *module.getBody())
    if (isKernel(op))
      builder.insert(op.cloneWithoutRegions());
    else
      builder.clone(op);
  return host;
}

/// Deals the kernels out, the largest first, each to the group that is smallest by then.
static SmallVector<SmallVector<func::FuncOp>> balance(ArrayRef<func::FuncOp> kernels,
                                                      unsigned groups) {
  SmallVector<std::pair<int64_t, unsigned>> sized;
  for (auto [number, kernel] : llvm::enumerate(kernels))
    sized.push_back({-countOperations(kernel), number});
  llvm::sort(sized);
  SmallVector<SmallVector<func::FuncOp>> dealt(groups);
  SmallVector<int64_t> sizes(groups);
  for (auto [negativeSize, number] : sized) {
    unsigned smallest = std::distance(sizes.begin(), llvm::min_element(sizes));
    dealt[smallest].push_back(kernels[number]);
    sizes[smallest] -= negativeSize;
  }
  return dealt;
}

ProgramParts bppsa::splitProgram(ModuleOp module, unsigned maxGroups) {
  ProgramParts parts;
  SmallVector<func::FuncOp> kernels;
  SmallVector<Operation *> shared;
  for (Operation &op : *module.getBody()) {
    if (isKernel(op))
      kernels.push_back(cast<func::FuncOp>(op));
    else if (!isa<func::FuncOp>(op) || cast<func::FuncOp>(op).isExternal())
      shared.push_back(&op);
  }
  for (func::FuncOp kernel : kernels)
    parts.kernels.push_back(kernel.getName().str());
  parts.host = extractHost(module);
  for (ArrayRef<func::FuncOp> dealt :
       balance(kernels, std::min<size_t>(maxGroups, kernels.size()))) {
    OwningOpRef<ModuleOp> group = createLike(module);
    OpBuilder builder = OpBuilder::atBlockEnd(group->getBody());
    for (Operation *op : shared)
      builder.clone(*op);
    for (func::FuncOp kernel : dealt)
      cast<func::FuncOp>(builder.clone(*kernel)).setPublic();
    parts.groups.push_back(std::move(group));
  }
  return parts;
}
