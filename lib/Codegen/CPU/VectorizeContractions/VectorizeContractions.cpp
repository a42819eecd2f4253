//===- VectorizeContractions.cpp - vectorize convolutions and products ----===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "Contraction.h"
#include "bppsa/Codegen/CPU/Passes.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

namespace bppsa {
#define GEN_PASS_DEF_VECTORIZECONTRACTIONS
#include "bppsa/Codegen/CPU/Passes.h.inc"
} // namespace bppsa

using namespace mlir;
using namespace bppsa;

namespace {
struct VectorizeContractions : bppsa::impl::VectorizeContractionsBase<VectorizeContractions> {
  using VectorizeContractionsBase::VectorizeContractionsBase;

  void runOnOperation() override {
    // Half of the registers hold accumulators; more than 8 do not hide more latency.
    int64_t numRows = std::clamp<int64_t>(registers / 2, 1, 8);
    SmallVector<linalg::GenericOp> generics;
    getOperation().walk([&](linalg::GenericOp op) { generics.push_back(op); });
    for (linalg::GenericOp op : generics) {
      std::optional<Contraction> contraction = planContraction(op);
      if (!contraction)
        continue;
      OpBuilder builder(op);
      emitContraction(*contraction, /*numLanes=*/16, numRows, builder);
      op.erase();
    }
  }
};
} // namespace
