//===- CopyConstants.cpp - constants and sizes in device memory -----------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "../Launch.h"
#include "bppsa/Codegen/GPU/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace bppsa {
#define GEN_PASS_DEF_COPYCONSTANTS
#include "bppsa/Codegen/GPU/Passes.h.inc"
} // namespace bppsa

using namespace mlir;
using namespace bppsa;

/// Copies constants to device memory, because the originals are in host memory.
static void copyConstants(func::FuncOp function) {
  SmallVector<memref::GetGlobalOp> globals(function.getOps<memref::GetGlobalOp>());
  for (memref::GetGlobalOp global : globals) {
    Location loc = global.getLoc();
    OpBuilder builder(global);
    Value copy = memref::AllocOp::create(builder, loc, global.getType(), ValueRange(),
                                         builder.getI64IntegerAttr(64));
    global.replaceAllUsesWith(copy);
    Value count = getIndex(builder, loc, global.getType().getNumElements());
    SmallVector<Value> sizes;
    for (int64_t size : global.getType().getShape())
      sizes.push_back(getIndex(builder, loc, size));
    emitForEachThread(builder, loc, count, [&](OpBuilder &nested, Value number) {
      SmallVector<Value> at = splitIndex(nested, loc, number, sizes);
      Value source = memref::GetGlobalOp::create(nested, loc, global.getType(), global.getName());
      Value value = memref::LoadOp::create(nested, loc, source, at);
      memref::StoreOp::create(nested, loc, value, copy, at);
    });
    builder.setInsertionPoint(function.front().getTerminator());
    memref::DeallocOp::create(builder, loc, copy);
    global.erase();
  }
}

static void launchStores(func::FuncOp function) {
  SmallVector<memref::StoreOp> stores(function.getOps<memref::StoreOp>());
  for (memref::StoreOp store : stores) {
    OpBuilder builder(store);
    Location loc = store.getLoc();
    emitForEachThread(builder, loc, getIndex(builder, loc, 1),
                      [&](OpBuilder &nested, Value) { nested.clone(*store); });
    store.erase();
  }
}

namespace {
struct CopyConstants : public bppsa::impl::CopyConstantsBase<CopyConstants> {
  using CopyConstantsBase::CopyConstantsBase;

  void runOnOperation() override {
    func::FuncOp function = getOperation();
    if (function.isExternal())
      return;
    copyConstants(function);
    // Kernels store their own results.
    if (!function.isPrivate())
      launchStores(function);
  }
};
} // namespace
