//===- DestinationOpsTest.cpp - contract of ops that write memory ---------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Dialect/BPPSA/IR/BPPSA.h"
#include "bppsa/InitAll.h"
#include "gtest/gtest.h"

using namespace bppsa;
using namespace mlir;

/// The registered operations that satisfy `isWanted`.
static std::vector<RegisteredOperationName>
findOps(MLIRContext &context, function_ref<bool(RegisteredOperationName)> isWanted) {
  DialectRegistry registry;
  registerAllDialects(registry);
  context.appendDialectRegistry(registry);
  context.loadAllAvailableDialects();
  std::vector<RegisteredOperationName> found;
  llvm::copy_if(context.getRegisteredOperations(), std::back_inserter(found), isWanted);
  return found;
}

TEST(DestinationOpsTest, KernelsHaveDestinations) {
  MLIRContext context;
  auto kernels = findOps(context, [](auto op) { return op.template hasTrait<KernelTrait>(); });
  EXPECT_FALSE(kernels.empty());
  for (RegisteredOperationName op : kernels) {
    EXPECT_TRUE(op.hasInterface<DestinationOpInterface>()) << op.getStringRef().str();
    EXPECT_TRUE(op.hasInterface<MemoryEffectOpInterface>()) << op.getStringRef().str();
    EXPECT_TRUE(op.hasInterface<ReifyRankedShapedTypeOpInterface>()) << op.getStringRef().str();
  }
}

TEST(DestinationOpsTest, PackableOpsAreKernels) {
  MLIRContext context;
  auto packable =
      findOps(context, [](auto op) { return op.template hasInterface<PackableOpInterface>(); });
  EXPECT_FALSE(packable.empty());
  for (RegisteredOperationName op : packable)
    EXPECT_TRUE(op.hasTrait<KernelTrait>()) << op.getStringRef().str();
}
