//===- DeviceToNVVM.cpp - kernels to the NVVM dialect ---------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// Upstream lowers math to libdevice of the CUDA toolkit; this pass uses LLVM intrinsics.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Conversion/Passes.h"
#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/GPUToNVVM/GPUToNVVMPass.h"
#include "mlir/Conversion/LLVMCommon/ConversionTarget.h"
#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Conversion/MemRefToLLVM/MemRefToLLVM.h"
#include "mlir/Conversion/NVGPUToNVVM/NVGPUToNVVM.h"
#include "mlir/Conversion/UBToLLVM/UBToLLVM.h"
#include "mlir/Conversion/VectorToLLVM/ConvertVectorToLLVM.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/GPU/Transforms/Passes.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/NVGPU/IR/NVGPUDialect.h"
#include "mlir/Transforms/DialectConversion.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace bppsa {
#define GEN_PASS_DEF_CONVERTDEVICETONVVM
#include "bppsa/Conversion/Passes.h.inc"
} // namespace bppsa

using namespace mlir;
using namespace bppsa;

/// Sets `minctasm` to 1 for small blocks with barriers, so that ptxas may use all registers. By
/// default ptxas limits registers to raise occupancy, even if it has to spill. Blocks with barriers
/// run time steps or multiply tiles, and are faster with more registers.
static void lowerMinBlocks(gpu::GPUModuleOp module) {
  static constexpr int64_t kSmallBlock = 128;
  for (auto function : module.getOps<gpu::GPUFuncOp>()) {
    std::optional<ArrayRef<int32_t>> sizes = function.getKnownBlockSize();
    bool isSmall = sizes && llvm::product_of(*sizes) <= kSmallBlock;
    bool waits =
        function.walk([](gpu::BarrierOp) { return WalkResult::interrupt(); }).wasInterrupted();
    if (isSmall && waits)
      function->setDiscardableAttr(NVVM::NVVMDialect::getMinctasmAttrName(),
                                   Builder(function).getI32IntegerAttr(1));
  }
}

/// Blocks of one warp need only warp barriers, which are cheaper.
static void narrowBarriers(gpu::GPUModuleOp module) {
  for (auto function : module.getOps<gpu::GPUFuncOp>()) {
    std::optional<ArrayRef<int32_t>> sizes = function.getKnownBlockSize();
    if (!sizes || llvm::product_of(*sizes) != 32)
      continue;
    function.walk([](gpu::BarrierOp op) {
      OpBuilder builder(op);
      Value all = arith::ConstantOp::create(builder, op.getLoc(), builder.getI32IntegerAttr(-1));
      NVVM::SyncWarpOp::create(builder, op.getLoc(), all);
      op.erase();
    });
  }
}

/// Copies and loads of four elements need 16 bytes. LLVM assumes this preferred alignment, but PTX
/// would declare only the alignment of single elements.
static void alignShared(gpu::GPUModuleOp module) {
  Attribute alignment = Builder(module).getI64IntegerAttr(16);
  for (auto function : module.getOps<gpu::GPUFuncOp>())
    for (int64_t number : llvm::seq<int64_t>(function.getNumWorkgroupAttributions()))
      function.setWorkgroupAttributionAttr(number, LLVM::LLVMDialect::getAlignAttrName(),
                                           alignment);
}

/// Moves loop annotations to the attribute that translation reads; upstream conversions keep the
/// attribute of the loop.
static void annotateBranches(gpu::GPUModuleOp module) {
  static constexpr llvm::StringLiteral kName = "llvm.loop_annotation";
  module.walk([](LLVM::BrOp branch) {
    if (auto annotation = branch->getAttrOfType<LLVM::LoopAnnotationAttr>(kName)) {
      branch.setLoopAnnotationAttr(annotation);
      branch->removeDiscardableAttr(kName);
    }
  });
}

namespace {
/// A correctly rounded division branches on extreme divisors. With `arcp`, one Newton step corrects
/// the approximate reciprocal.
struct DivideByReciprocal : public OpConversionPattern<arith::DivFOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult matchAndRewrite(arith::DivFOp op, OpAdaptor operands,
                                ConversionPatternRewriter &rewriter) const override {
    if (!op.getType().isF32() ||
        !arith::bitEnumContainsAll(op.getFastmath(), arith::FastMathFlags::arcp))
      return rewriter.notifyMatchFailure(op, "is an f32 division by a value that may be zero");
    Location loc = op.getLoc();
    Type type = op.getType();
    Value divisor = operands.getRhs();
    Value reciprocal = NVVM::RcpApproxFtzF32Op::create(rewriter, loc, type, divisor);
    Value quotient = LLVM::FMulOp::create(rewriter, loc, operands.getLhs(), reciprocal);
    Value negated = LLVM::FNegOp::create(rewriter, loc, divisor);
    Value rest = LLVM::FMAOp::create(rewriter, loc, negated, quotient, operands.getLhs());
    rewriter.replaceOpWithNewOp<LLVM::FMAOp>(op, rest, reciprocal, quotient);
    return success();
  }
};

struct ConvertDeviceToNVVM : public bppsa::impl::ConvertDeviceToNVVMBase<ConvertDeviceToNVVM> {
  void runOnOperation() override {
    lowerMinBlocks(getOperation());
    narrowBarriers(getOperation());
    alignShared(getOperation());
    MLIRContext *context = &getContext();
    LowerToLLVMOptions options(context);
    options.overrideIndexBitwidth(64);
    LLVMTypeConverter converter(context, options);
    configureGpuToNVVMTypeConverter(converter);
    // Copy groups are counted; tokens only order operations.
    converter.addConversion([](nvgpu::DeviceAsyncTokenType type) -> Type {
      return IntegerType::get(type.getContext(), 32);
    });

    RewritePatternSet patterns(context);
    populateGpuToNVVMConversionPatterns(converter, patterns);
    populateNVGPUToNVVMConversionPatterns(converter, patterns);
    arith::populateArithToLLVMConversionPatterns(converter, patterns);
    cf::populateControlFlowToLLVMConversionPatterns(converter, patterns);
    populateMathToLLVMConversionPatterns(converter, patterns);
    populateFinalizeMemRefToLLVMConversionPatterns(converter, patterns);
    populateVectorToLLVMConversionPatterns(converter, patterns);
    ub::populateUBToLLVMConversionPatterns(converter, patterns);
    patterns.add<DivideByReciprocal>(converter, context, /*benefit=*/2);

    LLVMConversionTarget target(*context);
    target.addLegalDialect<NVVM::NVVMDialect>();
    target.addIllegalDialect<gpu::GPUDialect, nvgpu::NVGPUDialect>();
    target.addLegalOp<gpu::GPUModuleOp, gpu::YieldOp>();
    if (failed(applyPartialConversion(getOperation(), target, std::move(patterns))))
      return signalPassFailure();
    annotateBranches(getOperation());
  }
};
} // namespace
