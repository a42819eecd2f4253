//===- ProgramParts.cpp - split programs for code generation --------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Target/ProgramParts.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/SymbolTable.h"
#include "llvm/ADT/EquivalenceClasses.h"
#include "llvm/ADT/MapVector.h"
#include <numeric>

using namespace mlir;
using namespace bppsa;

using Part = SmallVector<Operation *>;

static int64_t countOperations(ArrayRef<Operation *> part) {
  int64_t count = 0;
  for (Operation *op : part)
    op->walk([&](Operation *) { ++count; });
  return count;
}

static OwningOpRef<ModuleOp> createLike(ModuleOp module) {
  OwningOpRef<ModuleOp> created = ModuleOp::create(module.getLoc());
  (*created)->setAttrs(module->getAttrs());
  return created;
}

static bool isKernel(Operation &op) {
  auto function = dyn_cast<func::FuncOp>(op);
  return function && function.isPrivate() && !function.isExternal();
}

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

static SmallVector<int64_t> getSizes(ArrayRef<Part> parts) {
  return llvm::map_to_vector(parts, [](const Part &part) { return countOperations(part); });
}

static SmallVector<Part> balance(ArrayRef<Part> parts, ArrayRef<int64_t> sizes,
                                 unsigned maxGroups) {
  SmallVector<std::pair<int64_t, unsigned>> sized;
  for (auto [number, size] : llvm::enumerate(sizes))
    sized.push_back({-size, number});
  llvm::sort(sized);
  SmallVector<Part> groups(std::min<size_t>(maxGroups, parts.size()));
  SmallVector<int64_t> sizesOfGroups(groups.size());
  for (auto [negativeSize, number] : sized) {
    unsigned smallest = std::distance(sizesOfGroups.begin(), llvm::min_element(sizesOfGroups));
    llvm::append_range(groups[smallest], parts[number]);
    sizesOfGroups[smallest] -= negativeSize;
  }
  return groups;
}

/// Returns the number of groups for parallel code generation, independent of the number of threads.
static unsigned countGroups(ArrayRef<int64_t> sizes) {
  constexpr int64_t kMinOperations = 75, kMaxGroups = 16;
  int64_t operations = std::accumulate(sizes.begin(), sizes.end(), int64_t(0));
  return std::clamp<int64_t>(operations / kMinOperations, 1, kMaxGroups);
}

ProgramParts bppsa::splitProgram(ModuleOp module) {
  ProgramParts parts;
  SmallVector<Part> kernels;
  SmallVector<Operation *> shared;
  for (Operation &op : *module.getBody()) {
    if (isKernel(op))
      kernels.push_back({&op});
    else if (!isa<func::FuncOp>(op) || cast<func::FuncOp>(op).isExternal())
      shared.push_back(&op);
  }
  for (ArrayRef<Operation *> kernel : kernels)
    parts.kernels.push_back(SymbolTable::getSymbolName(kernel.front()).str());
  parts.host = extractHost(module);
  SmallVector<int64_t> sizes = getSizes(kernels);
  for (ArrayRef<Operation *> members : balance(kernels, sizes, countGroups(sizes))) {
    OwningOpRef<ModuleOp> group = createLike(module);
    OpBuilder builder = OpBuilder::atBlockEnd(group->getBody());
    for (Operation *op : shared)
      builder.clone(*op);
    for (Operation *kernel : members)
      cast<func::FuncOp>(builder.clone(*kernel)).setPublic();
    parts.groups.push_back(std::move(group));
  }
  return parts;
}

static SmallVector<Part> findConnected(gpu::GPUModuleOp device) {
  SymbolTable symbols(device);
  llvm::EquivalenceClasses<Operation *> connected;
  for (Operation &op : *device.getBody()) {
    connected.insert(&op);
    std::optional<SymbolTable::UseRange> uses = SymbolTable::getSymbolUses(&op);
    for (SymbolTable::SymbolUse use : *uses)
      if (Operation *used = symbols.lookup(use.getSymbolRef().getRootReference()))
        connected.unionSets(&op, used);
  }
  llvm::MapVector<Operation *, Part> parts;
  for (Operation &op : *device.getBody())
    parts[connected.getLeaderValue(&op)].push_back(&op);
  return llvm::map_to_vector(parts, [](auto &part) { return part.second; });
}

SmallVector<OwningOpRef<ModuleOp>> bppsa::splitDevice(ModuleOp module, unsigned maxGroups) {
  SmallVector<OwningOpRef<ModuleOp>> groups;
  auto device = *module.getOps<gpu::GPUModuleOp>().begin();
  SmallVector<Part> connected = findConnected(device);
  for (ArrayRef<Operation *> members : balance(connected, getSizes(connected), maxGroups)) {
    groups.push_back(ModuleOp::create(module.getLoc()));
    OpBuilder builder = OpBuilder::atBlockEnd(groups.back()->getBody());
    Operation *part = builder.cloneWithoutRegions(*device);
    Block &body = part->getRegion(0).emplaceBlock();
    for (Operation *op : members)
      op->moveBefore(&body, body.end());
  }
  device->erase();
  return groups;
}
