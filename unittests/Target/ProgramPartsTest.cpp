//===- ProgramPartsTest.cpp - split programs for code generation ----------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Target/ProgramParts.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Parser/Parser.h"
#include "gtest/gtest.h"
#include <set>

using namespace mlir;
using namespace bppsa;

static constexpr llvm::StringLiteral kSource = R"(
module {
  gpu.module @device {
    memref.global "private" constant @table : memref<2xf32> = dense<1.0>
    gpu.func @reads() kernel {
      %0 = memref.get_global @table : memref<2xf32>
      gpu.return
    }
    gpu.func @small() kernel {
      gpu.return
    }
    gpu.func @large() kernel {
      %0 = arith.constant 0 : index
      %1 = arith.addi %0, %0 : index
      %2 = arith.addi %1, %0 : index
      %3 = arith.addi %2, %0 : index
      gpu.return
    }
    gpu.func @reads_too() kernel {
      %0 = memref.get_global @table : memref<2xf32>
      gpu.return
    }
  }
})";

using Names = std::set<std::string>;

static std::set<Names> split(unsigned maxGroups) {
  DialectRegistry registry;
  registry.insert<arith::ArithDialect, gpu::GPUDialect, memref::MemRefDialect>();
  MLIRContext context(registry);
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(kSource, &context);
  std::set<Names> groups;
  for (OwningOpRef<ModuleOp> &group : splitDevice(*module, maxGroups)) {
    Names names;
    auto device = group->lookupSymbol<gpu::GPUModuleOp>("device");
    for (Operation &op : *device.getBody())
      names.insert(SymbolTable::getSymbolName(&op).str());
    groups.insert(names);
  }
  EXPECT_TRUE(module->getBody()->empty());
  return groups;
}

TEST(ProgramPartsTest, KernelsOfOneConstantStayTogether) {
  Names reads = {"reads", "reads_too", "table"};
  EXPECT_EQ(split(8), (std::set<Names>{reads, {"large"}, {"small"}}));
}

TEST(ProgramPartsTest, GroupsAreBalanced) {
  Names reads = {"reads", "reads_too", "table"};
  EXPECT_EQ(split(2), (std::set<Names>{reads, {"large", "small"}}));
}

TEST(ProgramPartsTest, OneGroupHasEverything) {
  EXPECT_EQ(split(1), (std::set<Names>{{"large", "reads", "reads_too", "small", "table"}}));
}
