//===- LowerMath.cpp - lower math functions to library calls --------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Codegen/CPU/Passes.h"
#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Conversion/MathToLibm/MathToLibm.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Pass/PassManager.h"

namespace bppsa {
#define GEN_PASS_DEF_LOWERMATH
#include "bppsa/Codegen/CPU/Passes.h.inc"
} // namespace bppsa

using namespace mlir;
using namespace bppsa;

static bool hasFunctions(ModuleOp module) {
  return module
      ->walk([](Operation *op) {
        bool isFunction = isa_and_nonnull<math::MathDialect>(op->getDialect()) &&
                          !isa<math::AbsFOp, math::CeilOp, math::FloorOp, math::SqrtOp>(op);
        return isFunction ? WalkResult::interrupt() : WalkResult::advance();
      })
      .wasInterrupted();
}

namespace {
struct LowerMath : public bppsa::impl::LowerMathBase<LowerMath> {
  void runOnOperation() override {
    if (!hasFunctions(getOperation()))
      return;
    OpPassManager conversions(ModuleOp::getOperationName());
    conversions.addPass(createConvertMathToLLVMPass());
    conversions.addPass(createConvertMathToLibmPass());
    if (failed(runPipeline(conversions, getOperation())))
      signalPassFailure();
  }
};
} // namespace
