//===- CPULowering.h - lower tensors to LLVM IR for CPUs --------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_COMPILER_PIPELINES_CPULOWERING_H
#define BPPSA_COMPILER_PIPELINES_CPULOWERING_H

#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassOptions.h"

namespace bppsa {

struct CPULoweringOptions : mlir::PassPipelineOptions<CPULoweringOptions> {
  PassOptions::Option<int64_t> lanes{*this, "lanes", llvm::cl::desc("Samples in one vector"),
                                     llvm::cl::init(16)};
  PassOptions::Option<int64_t> registers{
      *this, "registers",
      llvm::cl::desc("Vectors of all lanes that the registers hold: 32 for AVX-512, "
                     "8 for AVX2, 4 for SSE"),
      llvm::cl::init(32)};
  PassOptions::Option<bool> factorLinks{
      *this, "factor-links",
      llvm::cl::desc("Build the leaves of trees over time from the factors of a step's Jacobian"),
      llvm::cl::init(true)};
  PassOptions::Option<int64_t> memoryLimit{
      *this, "memory-limit",
      llvm::cl::desc("Bytes that loops in graph form may keep for their chains; 0 for no limit"),
      llvm::cl::init(0)};
  PassOptions::Option<bool> keepsGradientOrder{
      *this, "keeps-gradient-order",
      llvm::cl::desc("Compute gradients in the order of the module, in which ranks exchange them"),
      llvm::cl::init(false)};
  PassOptions::Option<bool> signalsGradients{
      *this, "signals-gradients",
      llvm::cl::desc("Signal final gradients of training steps, which ranks exchange meanwhile"),
      llvm::cl::init(false)};
};

/// Lowers tensors to kernels on memrefs, independent of the instruction set.
void buildKernelPipeline(mlir::OpPassManager &pm, const CPULoweringOptions &options);

/// Lowers kernels to the LLVM dialect for one instruction set.
void buildCPUCodePipeline(mlir::OpPassManager &pm, const CPULoweringOptions &options);

/// Lowers functions on tensors to the LLVM dialect. Every function `f` gets a C interface
/// `_mlir_ciface_f` with one pointer to a memref descriptor per argument and per former result.
void buildCPULoweringPipeline(mlir::OpPassManager &pm, const CPULoweringOptions &options);

void registerCPULoweringPipeline();

} // namespace bppsa

#endif // BPPSA_COMPILER_PIPELINES_CPULOWERING_H
