//===- CellOpsTest.cpp - cell op interface --------------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Dialect/BPPSA/IR/BPPSA.h"
#include "bppsa/InitAll.h"
#include "bppsa/Reference/Interpreter.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include "gtest/gtest.h"

using namespace bppsa;
using namespace mlir;

namespace {
class CellOpsTest : public testing::Test {
protected:
  CellOpsTest() {
    DialectRegistry registry;
    registerAllDialects(registry);
    context.appendDialectRegistry(registry);
    context.loadAllAvailableDialects();
  }

  /// Parses a function of two floats and a boolean that returns the result of `text`.
  OwningOpRef<ModuleOp> parse(const std::string &text, const std::string &type = "f64") {
    return parseSourceString<ModuleOp>("func.func @f(%a: f64, %b: f64, %c: i1) -> " + type +
                                           "{ %r = " + text + " return %r : " + type + " }",
                                       &context);
  }
  CellOpInterface getCell(ModuleOp module) {
    return cast<CellOpInterface>(getFunction(module).getBody().front().front());
  }
  func::FuncOp getFunction(ModuleOp module) { return *module.getOps<func::FuncOp>().begin(); }
  double call(ModuleOp module, double a, double b, int64_t c) {
    auto result = Interpreter(module).call(
        "f", {Array::makeScalar(a), Array::makeScalar(b), Array::makeIndex(c)});
    EXPECT_TRUE(succeeded(result));
    return (*result)[0].reals[0];
  }
  double getSlope(const std::string &text, unsigned operand, bool scaled, int64_t c);

  MLIRContext context;
};
} // namespace

static constexpr double kA = 0.7, kB = -1.3;

/// Returns the slope of an operation at (kA, kB) according to its interface, times kA if `scaled`.
double CellOpsTest::getSlope(const std::string &text, unsigned operand, bool scaled, int64_t c) {
  OwningOpRef<ModuleOp> module = parse(text);
  CellOpInterface cell = getCell(*module);
  Block &body = getFunction(*module).getBody().front();
  double factor = scaled ? kA : 1;
  switch (cell.getSlope(operand)) {
  case CellSlope::Zero:
    return 0;
  case CellSlope::One:
    return factor;
  case CellSlope::MinusOne:
    return -factor;
  case CellSlope::ByOthers:
  case CellSlope::ByCondition: {
    IRMapping others;
    for (Value operand : cell->getOperands())
      others.map(operand, operand);
    OpBuilder builder(body.getTerminator());
    body.getTerminator()->setOperand(
        0, cell.scaleBySlope(builder, operand, scaled ? body.getArgument(0) : Value(), others));
    return call(*module, kA, kB, c);
  }
  default:
    ADD_FAILURE() << "no slope is known";
    return 0;
  }
}

TEST_F(CellOpsTest, SlopesAreDifferenceQuotients) {
  const double step = 1e-5;
  const std::pair<const char *, std::vector<unsigned>> ops[] = {
      {"arith.addf %a, %b : f64", {0, 1}}, {"arith.subf %a, %b : f64", {0, 1}},
      {"arith.negf %a : f64", {0}},        {"arith.mulf %a, %b : f64", {0, 1}},
      {"arith.divf %a, %b : f64", {0}},    {"arith.select %c, %a, %b : f64", {1, 2}},
  };
  for (const auto &[text, operands] : ops)
    for (unsigned operand : operands)
      for (int64_t c : {0, 1}) {
        OwningOpRef<ModuleOp> module = parse(text);
        Value value = getCell(*module)->getOperand(operand);
        bool isA = cast<BlockArgument>(value).getArgNumber() == 0;
        double da = isA ? step : 0, db = isA ? 0 : step;
        double expected =
            (call(*module, kA + da, kB + db, c) - call(*module, kA - da, kB - db, c)) / (2 * step);
        EXPECT_NEAR(getSlope(text, operand, false, c), expected, 1e-8) << text << operand;
        EXPECT_NEAR(getSlope(text, operand, true, c), kA * expected, 1e-8) << text << operand;
      }
}

TEST_F(CellOpsTest, NonlinearOpsAreOpaque) {
  for (const char *text : {"math.tanh %a : f64", "bppsa.sigmoid %a : f64",
                           "arith.maximumf %a, %b : f64", "math.absf %a : f64"})
    EXPECT_EQ(getCell(*parse(text)).getSlope(0), CellSlope::Opaque) << text;
  EXPECT_EQ(getCell(*parse("arith.divf %a, %b : f64")).getSlope(1), CellSlope::Opaque);
  EXPECT_EQ(getCell(*parse("bppsa.stop_gradient %a : f64")).getSlope(0), CellSlope::Zero);
}

TEST_F(CellOpsTest, ProductsReadAllRowsAndSlicesOthers) {
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(R"(
    func.func @f(%m: vector<4x3xf32>, %x: vector<3xf32>, %y: vector<4xf32>) -> vector<4xf32> {
      %0 = bppsa.matvec %m, %x plus %y : vector<4x3xf32>, vector<3xf32> plus vector<4xf32> -> vector<4xf32>
      %1 = vector.extract_strided_slice %0 {offsets = [1], sizes = [2], strides = [1]} : vector<4xf32> to vector<2xf32>
      %2 = vector.insert_strided_slice %1, %y {offsets = [0], strides = [1]} : vector<2xf32> into vector<4xf32>
      %3 = arith.addf %2, %0 : vector<4xf32>
      return %3 : vector<4xf32>
    })",
                                                             &context);
  SmallVector<CellOpInterface> ops(getFunction(*module).getBody().getOps<CellOpInterface>());
  ASSERT_EQ(ops.size(), 4u);
  EXPECT_EQ(ops[0].getRowAccess(0), RowAccess::Matrix);
  EXPECT_EQ(ops[0].getRowAccess(1), RowAccess::All);
  EXPECT_EQ(ops[0].getRowAccess(2), RowAccess::Same);
  EXPECT_EQ(ops[0].countFlops(), 2 * 4 * 3);
  EXPECT_EQ(ops[1].getRowAccess(0), RowAccess::Other);
  EXPECT_EQ(ops[2].getRowAccess(0), RowAccess::Other);
  EXPECT_EQ(ops[2].getRowAccess(1), RowAccess::Same);
  EXPECT_EQ(ops[2].countFlops(), 0);
  EXPECT_TRUE(ops[3].isRowWise());
  EXPECT_FALSE(ops[2].isRowWise());
  EXPECT_EQ(ops[3].countFlops(), 4);
}

TEST_F(CellOpsTest, WorkDecidesWhatIsSaved) {
  auto isRecomputable = [&](const char *text) { return getCell(*parse(text)).isRecomputable(); };
  EXPECT_TRUE(isRecomputable("arith.mulf %a, %b : f64"));
  EXPECT_FALSE(isRecomputable("arith.divf %a, %b : f64"));
  EXPECT_FALSE(isRecomputable("math.exp %a : f64"));
  EXPECT_FALSE(isRecomputable("bppsa.sigmoid %a : f64"));
}

// The models must be attached in any context, including contexts with all upstream dialects.
TEST_F(CellOpsTest, EveryElementwiseOpOfArithAndMathIsOne) {
  int64_t count = 0;
  for (RegisteredOperationName name : context.getRegisteredOperations())
    if (llvm::is_contained({"arith", "math"}, name.getDialectNamespace()) &&
        name.hasTrait<OpTrait::Elementwise>() && name.hasTrait<OpTrait::OneResult>()) {
      EXPECT_TRUE(name.hasInterface<CellOpInterface>()) << name.getStringRef().str();
      ++count;
    }
  EXPECT_GT(count, 80);
}

TEST_F(CellOpsTest, SigmoidEvaluatesItself) {
  OwningOpRef<ModuleOp> module = parse("bppsa.sigmoid %a : f64");
  EXPECT_NEAR(call(*module, kA, 0, 0), 0.6681877721681662, 1e-15);
}
