//===- PackProducts.cpp - emit products mapped as packed ------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "Product.h"
#include "bppsa/Codegen/CPU/Passes.h"
#include "bppsa/Dialect/BPPSA/IR/ProductMapping.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

namespace bppsa {
#define GEN_PASS_DEF_PACKPRODUCTS
#include "bppsa/Codegen/CPU/Passes.h.inc"
} // namespace bppsa

using namespace mlir;
using namespace bppsa;

namespace {
struct PackProducts : bppsa::impl::PackProductsBase<PackProducts> {
  using PackProductsBase::PackProductsBase;

  void runOnOperation() override {
    SmallVector<linalg::GenericOp> generics;
    getOperation().walk([&](linalg::GenericOp op) { generics.push_back(op); });
    for (linalg::GenericOp op : generics) {
      std::optional<ProductForm> form = getProductForm(op);
      if (!form || form == ProductForm::Direct)
        continue;
      unsigned laneFactor = form == ProductForm::PackedLhs ? 0 : 1;
      std::optional<Product> product = findProduct(op, laneFactor);
      if (!product) {
        op.emitOpError("needs a matrix product of f32 arrays in memory at linear offsets to have a "
                       "packed mapping; use 'direct'");
        return signalPassFailure();
      }
      OpBuilder builder(op);
      emitProduct(*product, Blocking::get(*product, TileShape::get(registers)), builder);
      op.erase();
    }
  }
};
} // namespace
