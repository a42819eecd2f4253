//===- SourcesTest.cpp - faults name the source of a kernel ---------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "EmulatedLibrary.h"
#include "bppsa/Compiler/Pipelines/GPULowering.h"
#include "bppsa/InitAll.h"
#include "bppsa/Target/GPUObject.h"
#include "bppsa/Target/ProgramParts.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/Support/raw_ostream.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace bppsa;
using namespace bppsa::runtime;

namespace {
/// An MLIR module to be lowered to LLVM IR for a GPU.
class Source {
public:
  Source(llvm::StringRef text, llvm::StringRef file) : context(makeRegistry()) {
    module = parseSourceString<ModuleOp>(text, ParserConfig(&context), file);
    EXPECT_TRUE(module);
  }

  void run(void (*build)(OpPassManager &)) {
    PassManager pm(&context);
    build(pm);
    EXPECT_TRUE(succeeded(pm.run(*module)));
  }

  std::unique_ptr<llvm::Module> translate() {
    module = std::move(splitDevice(*module, /*maxGroups=*/1).front());
    run(buildGPUCodePipeline);
    addSourceTranslation(context);
    nameSources(*module);
    return translateDevice(*module, llvmContext, "sm_80", /*optLevel=*/0);
  }

private:
  static DialectRegistry makeRegistry() {
    DialectRegistry registry;
    registerAllDialects(registry);
    return registry;
  }

  MLIRContext context;
  llvm::LLVMContext llvmContext;
  OwningOpRef<ModuleOp> module;
};
} // namespace

TEST(SourcesTest, LocationsBecomeNames) {
  Source source(R"(
    gpu.module @device {
      llvm.func @k(%p: !llvm.ptr) attributes {nvvm.kernel} {
        %x = llvm.load %p : !llvm.ptr -> f32 loc("one"("GRU"("model.onnx":0:0)))
        llvm.store %x, %p : f32, !llvm.ptr loc(fused["optimizer adam"("model.onnx":0:0), "a\0Ab"("RNN"(unknown))])
        llvm.store %x, %p : f32, !llvm.ptr loc(callsite("k.mlir":3:5 at "k.mlir":9:1))
        llvm.store %x, %p : f32, !llvm.ptr loc("model.onnx":0:0)
        gpu.barrier loc("k.mlir":4:5)
        llvm.return
      }
    })",
                "text.mlir");
  std::unique_ptr<llvm::Module> module = source.translate();
  std::string error, text;
  ASSERT_TRUE(succeeded(retargetForEmulation(*module, error))) << error;
  llvm::raw_string_ostream(text) << *module;
  for (const char *site :
       {"node 'one' (GRU), load 1 of k", "optimizer adam or node 'a\\\\0Ab' (RNN), store 1 of k",
        "k.mlir:3:5, store 2 of k", "k.mlir:4:5, barrier 1 of k"})
    EXPECT_NE(text.find("c\"" + std::string(site) + "\\00\""), std::string::npos) << site;
  // A binary model file has no lines.
  EXPECT_NE(text.find("c\"store 3 of k\\00\""), std::string::npos);
}

// The last iteration reads past the end of the array.
static const char *const shift = R"(
func.func @shift(%in: memref<99xf32>, %out: memref<99xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c99 = arith.constant 99 : index
  scf.parallel (%i) = (%c0) to (%c99) step (%c1) {
    %next = arith.addi %i, %c1 : index
    %x = memref.load %in[%next] : memref<99xf32>
    memref.store %x, %out[%i] : memref<99xf32>
    scf.reduce
  }
  return
})";

static void runShift() {
  Source source(shift, "shift.mlir");
  source.run([](OpPassManager &pm) { buildGPUKernelPipeline(pm, TensorPrecision::FP32); });
  std::unique_ptr<llvm::Module> module = source.translate();
  EmulatedLibrary library(*module, /*optLevel=*/0);
  Emulator emulator;
  constexpr int64_t size = 99;
  void *in = emulator.allocate(size * sizeof(float)),
       *out = emulator.allocate(size * sizeof(float));
  int64_t offset = 0, extent = size, stride = 1;
  library.launch(emulator, "shift_kernel", 1, 128,
                 {&in, &in, &offset, &extent, &stride, &out, &out, &offset, &extent, &stride});
}

TEST(SourcesTest, AFaultNamesItsLine) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      runShift(), testing::ExitedWithCode(1),
      "^error: kernel 'shift_kernel', block \\(0, 0, 0\\), thread \\(98, 0, 0\\): read of 4 "
      "bytes is out of bounds: at byte 396 of an array of 396 bytes of device memory; "
      "shift.mlir:8:10, load 1 of shift_kernel\n$");
}
