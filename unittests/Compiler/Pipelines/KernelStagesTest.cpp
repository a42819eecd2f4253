//===- KernelStagesTest.cpp - shared pipeline stages ----------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "KernelStages.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "gtest/gtest.h"

using namespace mlir;

TEST(KernelStagesTest, TheDisabledPatternIsOneOfLoops) {
  MLIRContext context;
  context.loadDialect<scf::SCFDialect>();
  RewritePatternSet patterns(&context);
  scf::ForOp::getCanonicalizationPatterns(patterns, &context);
  EXPECT_TRUE(llvm::any_of(patterns.getNativePatterns(), [](const auto &pattern) {
    return pattern->getDebugName() == bppsa::kComparesCarriedValues;
  }));
}
