//===- RefusalTest.cpp - user errors and compiler bugs --------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Support/Refusal.h"
#include "mlir/IR/BuiltinOps.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace bppsa;

namespace {
/// An op at a location like those that the importer assigns to ops of a node.
struct RefusalTest : testing::Test {
  RefusalTest()
      : location(NameLoc::get(StringAttr::get(&context, "loop"),
                              NameLoc::get(StringAttr::get(&context, "Loop"),
                                           FileLineColLoc::get(&context, "model.onnx", 0, 0)))),
        module(ModuleOp::create(location)) {}

  MLIRContext context;
  Location location;
  OwningOpRef<ModuleOp> module;
};
} // namespace

TEST_F(RefusalTest, RefusalNamesTheNodeInPlaceOfTheOp) {
  std::string message;
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
    EXPECT_TRUE(isRefusal(diagnostic));
    message = getUserMessage(diagnostic);
  });
  refuseOp(*module) << "has 3 rows; use fewer";
  EXPECT_EQ(message, "node 'loop' (Loop): has 3 rows; use fewer");
  refuse(*module) << "has 3 rows; use fewer";
  EXPECT_EQ(message, "node 'loop' (Loop): has 3 rows; use fewer");
}

TEST_F(RefusalTest, OtherErrorsAreBugs) {
  int shown = 0;
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &) { ++shown; });
  BugCollector bugs(&context);
  EXPECT_EQ(bugs.getMessage(), "");
  module->emitError("operand #0 does not dominate this use");
  EXPECT_EQ(shown, 0);
  EXPECT_FALSE(bugs.hasRefusals());
  EXPECT_EQ(bugs.getMessage(), "operand #0 does not dominate this use");
  std::string line = bugs.describe("/tmp/file.mlir");
  EXPECT_EQ(line, "node 'loop' (Loop): bppsa cannot compile the model, which is a bug in bppsa; "
                  "please report it with the model and /tmp/file.mlir");
  refuse(*module) << "use fewer";
  EXPECT_EQ(shown, 1);
  EXPECT_TRUE(bugs.hasRefusals());
}
