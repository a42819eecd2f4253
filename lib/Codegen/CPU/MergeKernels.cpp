//===- MergeKernels.cpp - one kernel for equal ones -----------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// Different loops over time become launches some of which are the same, such as those that add up
// what blocks have. Upstream's duplicate-function-elimination knows no kernels, and drops the
// locations of what it merges.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Codegen/CPU/Passes.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/Support/DebugLog.h"

#define DEBUG_TYPE "bppsa-merge-kernels"

namespace bppsa {
#define GEN_PASS_DEF_MERGEKERNELS
#include "bppsa/Codegen/CPU/Passes.h.inc"
} // namespace bppsa

using namespace mlir;
using namespace bppsa;

/// What distinguishes kernels beside their bodies: types, sizes of blocks, attributes of arguments.
static DictionaryAttr getSignature(gpu::GPUFuncOp kernel) {
  NamedAttrList attributes(kernel->getAttrDictionary());
  attributes.erase(SymbolTable::getSymbolAttrName());
  return attributes.getDictionary(kernel.getContext());
}

namespace {
/// A kernel, equal to others that differ in names and locations alone.
struct EqualKernels : DenseMapInfo<gpu::GPUFuncOp> {
  static unsigned getHashValue(gpu::GPUFuncOp kernel) {
    llvm::hash_code hash = hash_value(getSignature(kernel));
    kernel.getBody().walk([&](Operation *op) {
      hash = llvm::hash_combine(
          hash, OperationEquivalence::computeHash(op, OperationEquivalence::ignoreHashValue,
                                                  OperationEquivalence::ignoreHashValue,
                                                  OperationEquivalence::IgnoreLocations));
    });
    return hash;
  }

  static bool isEqual(gpu::GPUFuncOp lhs, gpu::GPUFuncOp rhs) {
    auto isMarker = [](gpu::GPUFuncOp key) {
      return key == getEmptyKey() || key == getTombstoneKey();
    };
    if (lhs == rhs || isMarker(lhs) || isMarker(rhs))
      return lhs == rhs;
    return getSignature(lhs) == getSignature(rhs) &&
           OperationEquivalence::isRegionEquivalentTo(&lhs.getBody(), &rhs.getBody(),
                                                      OperationEquivalence::IgnoreLocations);
  }
};

using Groups = llvm::MapVector<gpu::GPUFuncOp, SmallVector<gpu::GPUFuncOp>,
                               DenseMap<gpu::GPUFuncOp, unsigned, EqualKernels>>;
} // namespace

/// The kernels of `device`, each with the first one that is equal to it.
static Groups findEqual(gpu::GPUModuleOp device) {
  Groups groups;
  for (auto function : device.getOps<gpu::GPUFuncOp>())
    if (function.isKernel())
      groups[function].push_back(function);
  return groups;
}

static SmallVector<Operation *> collectOperations(gpu::GPUFuncOp kernel) {
  SmallVector<Operation *> operations;
  kernel.walk([&](Operation *op) { operations.push_back(op); });
  return operations;
}

/// Gives each operation of the first of `kernels` the locations that it has in all of them, so that
/// messages name all nodes of a model that it may come from.
static void fuseLocations(ArrayRef<gpu::GPUFuncOp> kernels) {
  auto operations = llvm::map_to_vector(kernels, collectOperations);
  for (unsigned i = 0, e = operations.front().size(); i < e; ++i) {
    auto locations = llvm::map_to_vector(
        operations, [&](ArrayRef<Operation *> ops) { return ops[i]->getLoc(); });
    Operation *op = operations.front()[i];
    op->setLoc(FusedLoc::get(locations, /*metadata=*/{}, op->getContext()));
  }
}

/// A kernel as launches refer to it.
static SymbolRefAttr getReference(gpu::GPUFuncOp kernel) {
  auto device = kernel->getParentOfType<gpu::GPUModuleOp>();
  return SymbolRefAttr::get(device.getNameAttr(), FlatSymbolRefAttr::get(kernel.getNameAttr()));
}

namespace {
struct MergeKernels : public bppsa::impl::MergeKernelsBase<MergeKernels> {
  void runOnOperation() override {
    DenseMap<SymbolRefAttr, SymbolRefAttr> merged;
    for (auto device : getOperation().getOps<gpu::GPUModuleOp>())
      for (auto &[first, kernels] : findEqual(device))
        if (kernels.size() > 1) {
          fuseLocations(kernels);
          for (gpu::GPUFuncOp other : ArrayRef(kernels).drop_front()) {
            LDBG() << other.getName() << " is " << kernels.front().getName();
            merged[getReference(other)] = getReference(first);
            other.erase();
          }
        }
    getOperation().walk([&](gpu::LaunchFuncOp launch) {
      if (SymbolRefAttr kernel = merged.lookup(launch.getKernel()))
        launch.setKernelAttr(kernel);
    });
  }
};
} // namespace
