//===- EmulationTest.cpp - device modules for the CPU ---------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Target/Emulation.h"
#include "llvm/AsmParser/Parser.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/raw_ostream.h"
#include "gtest/gtest.h"

using namespace bppsa;

namespace {
struct Result {
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> module;
  llvm::SmallVector<EmulatedKernel> kernels;
  std::string error, text;

  explicit Result(llvm::StringRef source) {
    llvm::SMDiagnostic diagnostic;
    module = llvm::parseAssemblyString(source, diagnostic, context);
    if (!module) {
      ADD_FAILURE() << diagnostic.getMessage().str();
      return;
    }
    auto found = retargetForEmulation(*module, error);
    EXPECT_EQ(failed(found), !error.empty());
    if (failed(found))
      return;
    kernels = *found;
    llvm::raw_string_ostream(text) << *module;
  }

  bool has(llvm::StringRef part) const { return llvm::StringRef(text).contains(part); }
};
} // namespace

static std::string errorOf(llvm::StringRef body, llvm::StringRef declarations) {
  return Result(("define ptx_kernel void @k(ptr %p) {\n" + body + "\nret void\n}\n" + declarations)
                    .str())
      .error;
}

TEST(EmulationTest, KernelsBecomeFunctionsOfOneThread) {
  Result result(R"(
    target triple = "nvptx64-nvidia-cuda"
    @buffer = internal addrspace(3) global [8 x float] undef, align 16
    @table = internal addrspace(4) constant [2 x float] [float 1.0, float 2.0]
    define ptx_kernel void @first(ptr %data, i64 %n, float %x) #0 {
      %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
      %w = call i32 @llvm.nvvm.read.ptx.sreg.warpsize()
      %a = getelementptr float, ptr addrspace(3) @buffer, i32 %t
      store float %x, ptr addrspace(3) %a, align 4
      %v = load float, ptr addrspace(4) getelementptr (float, ptr addrspace(4) @table, i64 1)
      store float %v, ptr %data, align 4
      call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
      ret void
    }
    define void @second(ptr %data) "nvvm.kernel" { ret void }
    define void @helper() { ret void }
    declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
    declare i32 @llvm.nvvm.read.ptx.sreg.warpsize()
    declare void @llvm.nvvm.barrier.cta.sync.aligned.all(i32)
    attributes #0 = { "target-cpu"="sm_90" "target-features"="+ptx83" "nvvm.maxntid"="128,2,1" }
  )");
  ASSERT_EQ(result.error, "");
  ASSERT_EQ(result.kernels.size(), 2u);
  EXPECT_EQ(result.kernels[0].name, "first");
  EXPECT_EQ(result.kernels[0].symbol, "bppsa_emulated_first");
  EXPECT_EQ(result.kernels[0].sharedBytes, 32u);
  EXPECT_EQ(result.kernels[1].sharedBytes, 0u);
  EXPECT_TRUE(result.has("define hidden void @bppsa_emulated_first(ptr %0)"));
  EXPECT_TRUE(result.has("define internal void @first("));
  for (llvm::StringRef gone : {"llvm.nvvm", "ptx_kernel", "sm_90", "ptx83", "nvvm.maxntid", "nvptx",
                               "@buffer", "addrspace(4) constant"})
    EXPECT_FALSE(result.has(gone)) << gone.str();
  for (llvm::StringRef there :
       {"call void @bppsa_emu_add_shared(ptr @bppsa_emulated_first, i64 16, i64 32)",
        "call void @bppsa_emu_limit_block(ptr @bppsa_emulated_first, i32 256)",
        "call void @bppsa_emu_add_global(ptr @table, i64 8, i32 0)", "@llvm.global_ctors",
        "c\"store 1 of first\\00\"", "c\"barrier 1 of first\\00\""})
    EXPECT_TRUE(result.has(there)) << there.str();
}

TEST(EmulationTest, AccessesAreAnnouncedWithWhatTheyNeed) {
  Result result(R"(
    @buffer = internal addrspace(3) global [8 x float] undef
    define ptx_kernel void @k(ptr %p, ptr addrspace(1) %g, i32 %n) {
      %own = alloca [4 x float]
      store float 1.0, ptr %own
      %v = load <4 x float>, ptr addrspace(1) %g, align 16
      %generic = addrspacecast ptr addrspace(3) @buffer to ptr
      store double 1.0, ptr %generic, align 4
      %old = atomicrmw fadd ptr %p, float 1.0 syncscope("device") monotonic, align 4
      call void @llvm.memcpy.p0.p1.i32(ptr %own, ptr addrspace(1) %g, i32 %n, i1 false)
      ret void
    }
    declare void @llvm.memcpy.p0.p1.i32(ptr, ptr addrspace(1), i32, i1)
  )");
  ASSERT_EQ(result.error, "");
  std::vector<std::string> calls;
  for (llvm::User *user : result.module->getFunction("bppsa_emu_access")->users()) {
    auto *call = llvm::cast<llvm::CallInst>(user);
    auto number = [&](unsigned i) {
      auto *constant = llvm::dyn_cast<llvm::ConstantInt>(call->getArgOperand(i));
      return constant ? std::to_string(constant->getZExtValue()) : "?";
    };
    calls.insert(calls.begin(), number(1) + " " + number(2));
  }
  llvm::sort(calls);
  // Bytes; flags: 1 write, 2 shared, 4 atomic, and from bit 8 the logarithm of the alignment.
  EXPECT_EQ(calls, (std::vector<std::string>{"16 1024", "4 517", "8 515", "? 0"}));
  EXPECT_FALSE(result.has("syncscope"));
}

TEST(EmulationTest, LoopsOverAtomicLoadsGiveWay) {
  Result result(R"(
    define ptx_kernel void @k(ptr addrspace(1) %p) {
    entry:
      br label %wait
    wait:
      %v = load atomic i32, ptr addrspace(1) %p syncscope("device") acquire, align 4
      %more = icmp ult i32 %v, 7
      br i1 %more, label %wait, label %done
    done:
      ret void
    }
  )");
  ASSERT_EQ(result.error, "");
  EXPECT_TRUE(result.has("call void @bppsa_emu_poll(ptr "));
}

TEST(EmulationTest, MaskedAccessesAreThoseOfTheirElements) {
  Result result(R"(
    define ptx_kernel void @k(ptr %p, <4 x i1> %mask) {
      %v = call <4 x float> @llvm.masked.load.v4f32.p0(ptr align 4 %p, <4 x i1> %mask,
                                                       <4 x float> zeroinitializer)
      ret void
    }
    declare <4 x float> @llvm.masked.load.v4f32.p0(ptr, <4 x i1>, <4 x float>)
  )");
  ASSERT_EQ(result.error, "");
  EXPECT_FALSE(result.has("llvm.masked"));
  EXPECT_TRUE(result.has("c\"load 4 of k\\00\""));
  EXPECT_FALSE(result.has("c\"load 5 of k\\00\""));
}

TEST(EmulationTest, ArraysDoNotTouch) {
  Result result(R"(
    @common = internal addrspace(3) global [3 x float] undef
    @a = internal addrspace(3) global [5 x i8] undef, align 1
    @b = internal addrspace(3) global [4 x float] undef, align 16
    @unused = internal addrspace(3) global [400 x float] undef
    @dynamic = external addrspace(3) global [0 x float]
    define void @helper() { store float 1.0, ptr addrspace(3) @common
      ret void }
    define ptx_kernel void @k() {
      store i8 1, ptr addrspace(3) @a
      store float 1.0, ptr addrspace(3) @b
      store float 1.0, ptr addrspace(3) @dynamic
      call void @helper()
      ret void
    }
    define ptx_kernel void @other() { call void @helper()
      ret void }
  )");
  ASSERT_EQ(result.error, "");
  EXPECT_EQ(result.kernels[0].sharedBytes, 12u + 5 + 15 + 16);
  EXPECT_EQ(result.kernels[1].sharedBytes, 12u);
  for (llvm::StringRef there :
       {"(ptr @bppsa_emulated_k, i64 4, i64 12)", "(ptr @bppsa_emulated_k, i64 81, i64 5)",
        "(ptr @bppsa_emulated_k, i64 176, i64 16)", "(ptr @bppsa_emulated_other, i64 4, i64 12)",
        "call ptr @bppsa_emu_dynamic_shared()"})
    EXPECT_TRUE(result.has(there)) << there.str();
}

TEST(EmulationTest, SitesBeginWithTheSource) {
  Result result(R"(
    define ptx_kernel void @k() {
      call void @llvm.nvvm.bar.warp.sync(i32 -1), !bppsa.source !0
      call void @llvm.nvvm.bar.warp.sync(i32 -1)
      ret void
    }
    declare void @llvm.nvvm.bar.warp.sync(i32)
    !0 = !{!"gru.mlir:12:7"}
  )");
  ASSERT_EQ(result.error, "");
  EXPECT_TRUE(result.has("c\"gru.mlir:12:7, bar.warp.sync 1 of k\\00\""));
  EXPECT_TRUE(result.has("c\"bar.warp.sync 2 of k\\00\""));
}

TEST(EmulationTest, ArithmeticBecomesInstructions) {
  Result result(R"(
    define float @f(float %x) {
      %a = call float @llvm.nvvm.fma.rn.f(float %x, float %x, float %x)
      %b = call float @llvm.nvvm.fabs.ftz.f32(float %a)
      %c = call float @llvm.nvvm.ex2.approx.ftz.f32(float %b)
      %d = call float asm "tanh.approx.f32 $0, $1;", "=f,f"(float %c)
      %e = call float @llvm.nvvm.rcp.approx.ftz.f(float %d)
      %g = call i32 @llvm.nvvm.f2tf32.rna(float %e)
      %h = bitcast i32 %g to float
      %i = call <2 x bfloat> @llvm.nvvm.ff2bf16x2.rn(float %h, float %a)
      %j = bitcast <2 x bfloat> %i to float
      ret float %j
    }
    declare float @llvm.nvvm.fma.rn.f(float, float, float)
    declare float @llvm.nvvm.fabs.ftz.f32(float)
    declare float @llvm.nvvm.ex2.approx.ftz.f32(float)
    declare float @llvm.nvvm.rcp.approx.ftz.f(float)
    declare i32 @llvm.nvvm.f2tf32.rna(float)
    declare <2 x bfloat> @llvm.nvvm.ff2bf16x2.rn(float, float)
  )");
  ASSERT_EQ(result.error, "");
  for (llvm::StringRef there :
       {"@llvm.fma.f32", "@llvm.fabs.f32", "@bppsa_emu_ex2(", "@bppsa_emu_tanh(", "@bppsa_emu_rcp(",
        "@bppsa_emu_flush(", "@bppsa_emu_tf32(", "@bppsa_emu_bf16x2("})
    EXPECT_TRUE(result.has(there)) << there.str();
}

TEST(EmulationTest, WhatIsNotKnownIsNamed) {
  EXPECT_EQ(errorOf("call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 1)",
                    "declare void @llvm.nvvm.barrier.cta.sync.aligned.all(i32)"),
            "the emulator does not know llvm.nvvm.barrier.cta.sync.aligned.all (in k)");
  EXPECT_EQ(errorOf("call i32 @llvm.nvvm.read.ptx.sreg.smid()",
                    "declare i32 @llvm.nvvm.read.ptx.sreg.smid()"),
            "the emulator does not know llvm.nvvm.read.ptx.sreg.smid (in k)");
  EXPECT_EQ(errorOf("call float @__nv_tanhf(float 1.0)", "declare float @__nv_tanhf(float)"),
            "the emulator does not know __nv_tanhf (in k)");
  EXPECT_EQ(errorOf("call void asm \"nanosleep.u32 $0;\", \"r\"(i32 1)", ""),
            "the emulator does not know inline assembly 'nanosleep.u32 $0;' (in k)");
  EXPECT_EQ(errorOf("call float asm \"ex2.approx.f32 $0, $1; trap;\", \"=f,f\"(float 1.0)", ""),
            "the emulator does not know inline assembly 'ex2.approx.f32 $0, $1; trap;' (in k)");
  EXPECT_EQ(errorOf("call void %p()", ""),
            "the emulator does not know calls through pointers (in k)");
  EXPECT_EQ(errorOf("%v = call <2 x float> @llvm.matrix.column.major.load.v2f32.i64("
                    "ptr %p, i64 2, i1 false, i32 2, i32 1)",
                    "declare <2 x float> @llvm.matrix.column.major.load.v2f32.i64("
                    "ptr, i64, i1, i32, i32)"),
            "the emulator does not know llvm.matrix.column.major.load.v2f32.i64 (in k)");
}

TEST(EmulationTest, WhatNoGPUCanHoldIsRefused) {
  EXPECT_EQ(errorOf("store i8 1, ptr addrspace(3) @s",
                    "@s = internal addrspace(3) global [49153 x i8] undef"),
            "kernel k has 49153 bytes of shared arrays; at most 49152 may be static");
  EXPECT_EQ(errorOf("store i8 1, ptr addrspace(3) @s", "@s = internal addrspace(3) global i8 1"),
            "shared array s has an initial value");
  EXPECT_EQ(errorOf("load i8, ptr addrspace(1) @g", "@g = external addrspace(1) global i8"),
            "the device module does not define g");
}
