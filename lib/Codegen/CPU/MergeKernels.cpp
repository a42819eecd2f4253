//===- MergeKernels.cpp - merge equal GPU kernels -------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// Upstream's duplicate-function-elimination does not handle GPU kernels and drops the locations of
// merged functions.
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

static DictionaryAttr getSignature(gpu::GPUFuncOp kernel) {
  NamedAttrList attributes(kernel->getAttrDictionary());
  attributes.erase(SymbolTable::getSymbolAttrName());
  return attributes.getDictionary(kernel.getContext());
}

namespace {
/// Compares kernels up to names and locations.
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

/// Gives each operation its locations in all kernels, so messages name all possible ONNX nodes.
static void fuseLocations(ArrayRef<gpu::GPUFuncOp> kernels) {
  auto operations = llvm::map_to_vector(kernels, collectOperations);
  for (unsigned i = 0, e = operations.front().size(); i < e; ++i) {
    auto locations = llvm::map_to_vector(
        operations, [&](ArrayRef<Operation *> ops) { return ops[i]->getLoc(); });
    Operation *op = operations.front()[i];
    op->setLoc(FusedLoc::get(locations, /*metadata=*/{}, op->getContext()));
  }
}

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
