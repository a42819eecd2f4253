//===- CPUTargetsTest.cpp - CPU instruction sets of programs --------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Target/CPUTargets.h"
#include "gtest/gtest.h"

using namespace bppsa;

/// Selects the target for a Zen 4 whose hypervisor hides the features `hidden`.
static CPUTarget select(std::initializer_list<llvm::StringRef> hidden) {
  llvm::StringMap<bool> features;
  for (llvm::StringRef name : {"sse4.2", "avx", "avx2", "fma", "avx512f", "avx512vl", "avx512bw",
                               "avx512dq", "avx512cd", "avx512vnni", "pku"})
    features[name] = true;
  for (llvm::StringRef name : hidden)
    features[name] = false;
  std::string error;
  mlir::FailureOr<CPUTarget> target = selectHostTarget("znver4", features, error);
  EXPECT_TRUE(mlir::succeeded(target)) << error;
  return *target;
}

TEST(CPUTargetsTest, NamesTheProcessorThatHasAllVectorsOfItsName) {
  CPUTarget target = select({});
  EXPECT_EQ(target.cpu, "znver4");
  EXPECT_EQ(target.isa, "x86-64-v4");
}

TEST(CPUTargetsTest, IgnoresHiddenInstructionsThatNoProgramHas) {
  EXPECT_EQ(select({"pku"}).cpu, "znver4");
}

TEST(CPUTargetsTest, TakesTheLevelThatHiddenVectorsLeave) {
  CPUTarget some = select({"avx512vnni"});
  EXPECT_EQ(some.cpu, "x86-64-v4");
  EXPECT_EQ(some.isa, "x86-64-v4");
  CPUTarget none = select({"avx512f", "avx512vl", "avx512bw", "avx512dq", "avx512cd"});
  EXPECT_EQ(none.cpu, "x86-64-v3");
  EXPECT_EQ(none.isa, "x86-64-v3");
  EXPECT_EQ(none.vectorBits, 256);
  EXPECT_EQ(select({"avx", "avx2", "avx512f"}).isa, "x86-64-v2");
}

TEST(CPUTargetsTest, NativeIsALevelOfThisMachine) {
  std::string error;
  auto targets = selectCPUTargets("native", error);
  ASSERT_TRUE(mlir::succeeded(targets)) << error;
  ASSERT_EQ(targets->size(), 1u);
  if (targets->front().isa == "x86-64-v4")
    EXPECT_TRUE(__builtin_cpu_supports("avx512f"));
  else if (targets->front().isa == "x86-64-v3")
    EXPECT_TRUE(__builtin_cpu_supports("avx2"));
}

TEST(CPUTargetsTest, RefusesUnknownNames) {
  std::string error;
  EXPECT_TRUE(mlir::failed(selectCPUTargets("zen-and-a-half", error)));
  EXPECT_NE(error.find("unknown CPU 'zen-and-a-half' for --mcpu"), std::string::npos);
}
