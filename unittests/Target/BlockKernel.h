//===- BlockKernel.h - hand-written block kernels, emulated -----*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// Lowers kernels of the bgpu dialect for the emulator, which ends the program if a barrier is
// missing.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_UNITTESTS_TARGET_BLOCKKERNEL_H
#define BPPSA_UNITTESTS_TARGET_BLOCKKERNEL_H

#include "EmulatedLibrary.h"
#include "bppsa/Compiler/Pipelines/GPULowering.h"
#include "bppsa/Conversion/Passes.h"
#include "bppsa/Dialect/BGPU/Transforms/Passes.h"
#include "bppsa/InitAll.h"
#include "bppsa/Target/GPUObject.h"
#include "bppsa/Target/ProgramParts.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/Transforms/Passes.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"

#include <algorithm>
#include <optional>
#include <random>

namespace bppsa {

inline constexpr int64_t numRows = 16, numColumns = 32;

class BlockKernel {
public:
  BlockKernel(llvm::StringRef text, bool insertBarriers, uint32_t threads) : threads(threads) {
    mlir::DialectRegistry registry;
    registerAllDialects(registry);
    mlir::MLIRContext context(registry);
    context.loadAllAvailableDialects();
    mlir::OwningOpRef<mlir::ModuleOp> module =
        mlir::parseSourceString<mlir::ModuleOp>(text, mlir::ParserConfig(&context));
    mlir::PassManager pm(&context);
    mlir::OpPassManager &functions = pm.nest<mlir::func::FuncOp>();
    functions.addPass(bgpu::createStageCopies());
    functions.addPass(bgpu::createAllocateShared());
    if (insertBarriers) {
      functions.addPass(bgpu::createInsertBarriers());
      functions.addPass(bgpu::createVerifyBarriers());
    }
    functions.addPass(createConvertBGPUToGPU());
    functions.addPass(mlir::createGpuLaunchSinkIndexComputationsPass());
    pm.addPass(mlir::createGpuKernelOutliningPass());
    if (!module || failed(pm.run(*module)))
      llvm::report_fatal_error("the kernel was not made");
    mlir::OwningOpRef<mlir::ModuleOp> device =
        std::move(splitDevice(*module, /*maxGroups=*/1).front());
    mlir::PassManager code(&context);
    buildGPUCodePipeline(code);
    if (failed(code.run(*device)))
      llvm::report_fatal_error("the kernel has no code");
    llvm::LLVMContext llvmContext;
    auto translated = translateDevice(*device, llvmContext, "sm_80", /*optLevel=*/0);
    library.emplace(*translated, /*optLevel=*/1);
  }

  /// Runs the kernel on `values`, with threads in an order drawn from `seed`. With several blocks,
  /// the kernel has a second array, `memref<1x32xi32>` of zeros.
  std::vector<float> run(const std::vector<float> &values, uint64_t seed, uint32_t grid = 1) {
    runtime::Emulator emulator;
    emulator.setSeed(seed);
    auto *data = static_cast<float *>(emulator.allocate(values.size() * sizeof(float)));
    std::copy(values.begin(), values.end(), data);
    auto *counters = static_cast<int32_t *>(emulator.allocate(numColumns * sizeof(int32_t)));
    std::fill_n(counters, numColumns, 0);
    int64_t offset = 0, rows = numRows, columns = numColumns, one = 1;
    void *arguments[] = {&data,     &data,     &offset, &rows, &columns, &columns, &one,
                         &counters, &counters, &offset, &one,  &columns, &columns, &one};
    library->launch(emulator, "kernel", grid, threads, arguments, /*cooperative=*/grid > 1);
    std::vector<float> result(data, data + values.size());
    emulator.release(counters);
    emulator.release(data);
    return result;
  }

  /// Same, and checks that the result does not depend on the order of threads.
  std::vector<float> runInOrders(const std::vector<float> &values) {
    std::vector<float> first = run(values, 0);
    for (uint64_t seed : {1, 2, 3})
      EXPECT_EQ(run(values, seed), first);
    return first;
  }

private:
  uint32_t threads;
  std::optional<EmulatedLibrary> library;
};

inline std::vector<float> drawValues() {
  std::mt19937 random(5);
  std::uniform_real_distribution<float> uniform(-1.0f, 1.0f);
  std::vector<float> values(numRows * numColumns);
  for (float &value : values)
    value = uniform(random);
  return values;
}

} // namespace bppsa

#endif // BPPSA_UNITTESTS_TARGET_BLOCKKERNEL_H
