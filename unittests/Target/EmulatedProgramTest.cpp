//===- EmulatedProgramTest.cpp - device modules compiled and run ----------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "EmulatedLibrary.h"
#include "llvm/AsmParser/Parser.h"
#include "llvm/Support/SourceMgr.h"
#include "gtest/gtest.h"

#include <numeric>

using namespace bppsa;
using namespace bppsa::runtime;

static EmulatedLibrary compile(llvm::StringRef source, unsigned optLevel) {
  llvm::LLVMContext context;
  llvm::SMDiagnostic diagnostic;
  auto module = llvm::parseAssemblyString(source, diagnostic, context);
  if (!module)
    llvm::report_fatal_error(diagnostic.getMessage());
  return EmulatedLibrary(*module, optLevel);
}

// Output of convert-gpu-to-nvvm for a per-block sum with shuffles and a workgroup array.
static const char *const reduction = R"(
  @sums = internal addrspace(3) global [4 x float] undef, align 16
  define ptx_kernel void @reduce(ptr %in, ptr %out, i64 %n, float %scale) {
    %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
    %b = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
    %size = call i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
    %start = mul i32 %b, %size
    %i = add i32 %start, %t
    %i64 = zext i32 %i to i64
    %inside = icmp ult i64 %i64, %n
    br i1 %inside, label %read, label %sum
  read:
    %p = getelementptr float, ptr %in, i64 %i64
    %x = load float, ptr %p, align 4
    br label %sum
  sum:
    %v0 = phi float [ 0.0, %0 ], [ %x, %read ]
    br label %loop
  loop:
    %step = phi i32 [ 16, %sum ], [ %half, %loop ]
    %v = phi float [ %v0, %sum ], [ %next, %loop ]
    %s = call { float, i1 } @llvm.nvvm.shfl.sync.down.f32p(i32 -1, float %v, i32 %step, i32 31)
    %other = extractvalue { float, i1 } %s, 0
    %valid = extractvalue { float, i1 } %s, 1
    %added = fadd float %v, %other
    %next = select i1 %valid, float %added, float %v
    %half = lshr i32 %step, 1
    %last = icmp eq i32 %half, 0
    br i1 %last, label %done, label %loop
  done:
    %lane = call i32 @llvm.nvvm.read.ptx.sreg.laneid()
    %warp = lshr i32 %t, 5
    %slot = getelementptr float, ptr addrspace(3) @sums, i32 %warp
    %leads = icmp eq i32 %lane, 0
    br i1 %leads, label %write, label %wait
  write:
    store float %next, ptr addrspace(3) %slot, align 4
    br label %wait
  wait:
    BARRIER
    %first = icmp eq i32 %t, 0
    br i1 %first, label %total, label %end
  total:
    %all = load <4 x float>, ptr addrspace(3) @sums, align 16
    %sum4 = call reassoc float @llvm.vector.reduce.fadd.v4f32(float 0.0, <4 x float> %all)
    %scaled = fmul float %sum4, %scale
    %old = atomicrmw fadd ptr %out, float %scaled monotonic, align 4
    br label %end
  end:
    ret void
  }
  declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  declare i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
  declare i32 @llvm.nvvm.read.ptx.sreg.laneid()
  declare { float, i1 } @llvm.nvvm.shfl.sync.down.f32p(i32, float, i32, i32)
  declare void @llvm.nvvm.barrier.cta.sync.aligned.all(i32)
  declare float @llvm.vector.reduce.fadd.v4f32(float, <4 x float>)
)";

static std::string reductionWith(const char *barrier) {
  std::string source = reduction;
  return source.replace(source.find("BARRIER"), 7, barrier);
}
static const char *const barrier = "call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)";

/// Sums 1, 2, ..., count in an array of `capacity` elements.
static float reduceNumbers(EmulatedLibrary &library, int64_t count, int64_t capacity,
                           uint64_t seed) {
  Emulator emulator;
  emulator.setSeed(seed);
  auto *in = static_cast<float *>(emulator.allocate(capacity * sizeof(float)));
  auto *out = static_cast<float *>(emulator.allocate(sizeof(float)));
  std::iota(in, in + capacity, 1.0f);
  *out = 0.0f;
  float scale = 0.5f;
  library.launch(emulator, "reduce", 8, 128, {&in, &out, &count, &scale});
  return *out;
}

TEST(EmulatedProgramTest, ReducesAtEveryLevelAndSeed) {
  for (unsigned optLevel : {0, 2, 3}) {
    EmulatedLibrary library = compile(reductionWith(barrier), optLevel);
    for (uint64_t seed : {0, 1, 2})
      EXPECT_EQ(reduceNumbers(library, 1000, 1000, seed), 1000 * 1001 / 4);
  }
}

TEST(EmulatedProgramTest, FaultsNameTheirPlace) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EmulatedLibrary library = compile(reductionWith(barrier), 3);
  EXPECT_EXIT(reduceNumbers(library, 1000, 999, 0), testing::ExitedWithCode(1),
              "^error: kernel 'reduce', block \\(7, 0, 0\\), thread \\(103, 0, 0\\): read of 4 "
              "bytes is out of bounds: at byte 3996 of an array of 3996 bytes of device memory; "
              "load 1 of reduce\n$");
  EmulatedLibrary racing = compile(reductionWith(""), 3);
  EXPECT_EXIT(reduceNumbers(racing, 1000, 1000, 0), testing::ExitedWithCode(1),
              "block \\(0, 0, 0\\), thread \\(0, 0, 0\\): read of shared memory at byte 20 that "
              "nothing has written in this block; load 2 of reduce\n$");
}

// Copies four elements per lane to shared memory by cp.async and multiplies them by mma; a table
// holds factors.
static const char *const product = R"(
  @tile = internal addrspace(3) global [128 x float] undef, align 16
  @factors = internal addrspace(4) constant [2 x float] [float 2.0, float 4.0], align 4
  define ptx_kernel void @multiply(ptr addrspace(1) %a, ptr %b, ptr %d, i32 %factor) {
    %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
    %start = shl i32 %t, 2
    %to = getelementptr float, ptr addrspace(3) @tile, i32 %start
    %from = getelementptr float, ptr addrspace(1) %a, i32 %start
    call void @llvm.nvvm.cp.async.cg.shared.global.16(ptr addrspace(3) %to, ptr addrspace(1) %from)
    call void @llvm.nvvm.cp.async.commit.group()
    call void @llvm.nvvm.cp.async.wait.group(i32 0)
    call void @llvm.nvvm.bar.warp.sync(i32 -1)
    %g = lshr i32 %t, 2
    %k = and i32 %t, 3
    %row = shl i32 %g, 3
    %i0 = add i32 %row, %k
    %i1 = add i32 %i0, 64
    %i2 = add i32 %i0, 4
    %i3 = add i32 %i1, 4
    %p0 = getelementptr i32, ptr addrspace(3) @tile, i32 %i0
    %p1 = getelementptr i32, ptr addrspace(3) @tile, i32 %i1
    %p2 = getelementptr i32, ptr addrspace(3) @tile, i32 %i2
    %p3 = getelementptr i32, ptr addrspace(3) @tile, i32 %i3
    %a0 = load i32, ptr addrspace(3) %p0
    %a1 = load i32, ptr addrspace(3) %p1
    %a2 = load i32, ptr addrspace(3) %p2
    %a3 = load i32, ptr addrspace(3) %p3
    %krow = shl i32 %k, 3
    %j0 = add i32 %krow, %g
    %j1 = add i32 %j0, 32
    %q0 = getelementptr i32, ptr %b, i32 %j0
    %q1 = getelementptr i32, ptr %b, i32 %j1
    %b0 = load i32, ptr %q0
    %b1 = load i32, ptr %q1
    %m = call { float, float, float, float } @llvm.nvvm.mma.m16n8k8.row.col.tf32(
        i32 %a0, i32 %a1, i32 %a2, i32 %a3, i32 %b0, i32 %b1,
        float 0.0, float 0.0, float 0.0, float 0.0)
    %d0 = extractvalue { float, float, float, float } %m, 0
    %d1 = extractvalue { float, float, float, float } %m, 1
    %d2 = extractvalue { float, float, float, float } %m, 2
    %d3 = extractvalue { float, float, float, float } %m, 3
    %pf = getelementptr float, ptr addrspace(4) @factors, i32 %factor
    %f = load float, ptr addrspace(4) %pf, align 4
    %c = shl i32 %k, 1
    %at = add i32 %row, %c
    %v0 = insertelement <2 x float> poison, float %d0, i32 0
    %v1 = insertelement <2 x float> %v0, float %d1, i32 1
    %w0 = insertelement <2 x float> poison, float %d2, i32 0
    %w1 = insertelement <2 x float> %w0, float %d3, i32 1
    %f0 = insertelement <2 x float> poison, float %f, i32 0
    %f1 = insertelement <2 x float> %f0, float %f, i32 1
    %v = fmul <2 x float> %v1, %f1
    %w = fmul <2 x float> %w1, %f1
    %o0 = getelementptr float, ptr %d, i32 %at
    %o1 = getelementptr float, ptr %o0, i32 64
    store <2 x float> %v, ptr %o0, align 8
    store <2 x float> %w, ptr %o1, align 8
    ret void
  }
  declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  declare void @llvm.nvvm.cp.async.cg.shared.global.16(ptr addrspace(3), ptr addrspace(1))
  declare void @llvm.nvvm.cp.async.commit.group()
  declare void @llvm.nvvm.cp.async.wait.group(i32)
  declare void @llvm.nvvm.bar.warp.sync(i32)
  declare { float, float, float, float } @llvm.nvvm.mma.m16n8k8.row.col.tf32(
      i32, i32, i32, i32, i32, i32, float, float, float, float)
)";

/// Multiplies 16 x 8 by 8 x 8, and by factor number `factor` of the table.
static void multiply(EmulatedLibrary &library, int32_t factor) {
  Emulator emulator;
  auto *a = static_cast<float *>(emulator.allocate(128 * sizeof(float)));
  auto *b = static_cast<float *>(emulator.allocate(64 * sizeof(float)));
  auto *d = static_cast<float *>(emulator.allocate(128 * sizeof(float)));
  for (int i = 0; i < 128; ++i)
    a[i] = static_cast<float>(i * 7 % 31 - 11);
  for (int i = 0; i < 64; ++i)
    b[i] = static_cast<float>(i * 5 % 23 - 9);
  library.launch(emulator, "multiply", 1, 32, {&a, &b, &d, &factor});
  for (int i = 0; i < 128; ++i) {
    float sum = 0.0f;
    for (int k = 0; k < 8; ++k)
      sum += a[i / 8 * 8 + k] * b[k * 8 + i % 8];
    ASSERT_EQ(d[i], sum * (factor == 1 ? 4.0f : 2.0f)) << "element " << i;
  }
}

TEST(EmulatedProgramTest, MultipliesMatrices) {
  for (unsigned optLevel : {0, 3}) {
    EmulatedLibrary library = compile(product, optLevel);
    multiply(library, 0);
    multiply(library, 1);
  }
}

TEST(EmulatedProgramTest, ConstantsHaveAnEnd) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EmulatedLibrary library = compile(product, 3);
  EXPECT_EXIT(multiply(library, 2000), testing::ExitedWithCode(1),
              "read of 4 bytes is out of bounds: .*; load 7 of multiply\n$");
}
