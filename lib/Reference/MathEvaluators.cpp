//===- MathEvaluators.cpp - evaluators of math ----------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Reference/Interpreter.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include <cmath>

using namespace mlir;
using namespace bppsa;

static LogicalResult evaluateIntegerAbs(math::AbsIOp op, Interpreter &interpreter) {
  Array result = interpreter.get(op.getOperand());
  for (int64_t &value : result.integers)
    value = value < 0 ? wrapInteger(-value, op.getType()) : value;
  interpreter.set(op.getResult(), std::move(result));
  return success();
}

static LogicalResult evaluateIntegerPower(math::FPowIOp op, Interpreter &interpreter) {
  const Array &exponent = interpreter.get(op.getRhs());
  Array result = interpreter.get(op.getLhs());
  for (auto [to, power] : llvm::zip_equal(result.reals, exponent.integers))
    to = std::pow(to, static_cast<double>(power));
  interpreter.set(op.getResult(), std::move(result));
  return success();
}

static LogicalResult evaluateLeadingZeros(math::CountLeadingZerosOp op, Interpreter &interpreter) {
  int64_t width = getElementTypeOrSelf(op.getType()).getIntOrFloatBitWidth();
  Array result = interpreter.get(op.getOperand());
  for (int64_t &element : result.integers) {
    llvm::APInt bits(width, static_cast<uint64_t>(element), /*isSigned=*/true);
    element = bits.countl_zero();
  }
  interpreter.set(op.getResult(), std::move(result));
  return success();
}

static void addRounding(EvaluatorTable &table) {
  table.addUnary<math::AbsFOp>(std::fabs);
  table.addUnary<math::CeilOp>(std::ceil);
  table.addUnary<math::FloorOp>(std::floor);
  table.addUnary<math::RoundOp>(std::round);
  // The default rounding mode is to nearest, ties to even.
  table.addUnary<math::RoundEvenOp>(std::nearbyint);
  table.addUnary<math::TruncOp>(std::trunc);
  table.addBinary<math::CopySignOp>(std::copysign);
}

static void addTranscendental(EvaluatorTable &table) {
  table.addUnary<math::ExpOp>(std::exp);
  table.addUnary<math::Exp2Op>(std::exp2);
  table.addUnary<math::ExpM1Op>(std::expm1);
  table.addUnary<math::LogOp>(std::log);
  table.addUnary<math::Log2Op>(std::log2);
  table.addUnary<math::Log10Op>(std::log10);
  table.addUnary<math::Log1pOp>(std::log1p);
  table.addUnary<math::SinOp>(std::sin);
  table.addUnary<math::CosOp>(std::cos);
  table.addUnary<math::TanOp>(std::tan);
  table.addUnary<math::AsinOp>(std::asin);
  table.addUnary<math::AcosOp>(std::acos);
  table.addUnary<math::AtanOp>(std::atan);
  table.addBinary<math::Atan2Op>(std::atan2);
  table.addUnary<math::SinhOp>(std::sinh);
  table.addUnary<math::CoshOp>(std::cosh);
  table.addUnary<math::TanhOp>(std::tanh);
  table.addUnary<math::AsinhOp>(std::asinh);
  table.addUnary<math::AcoshOp>(std::acosh);
  table.addUnary<math::AtanhOp>(std::atanh);
  table.addUnary<math::ErfOp>(std::erf);
}

void bppsa::addMathEvaluators(EvaluatorTable &table) {
  addRounding(table);
  addTranscendental(table);
  table.addUnary<math::SqrtOp>(std::sqrt);
  table.addUnary<math::RsqrtOp>([](double x) { return 1.0 / std::sqrt(x); });
  table.addUnary<math::CbrtOp>(std::cbrt);
  table.addBinary<math::PowFOp>(std::pow);
  table.addTernary<math::FmaOp>([](double a, double b, double c) { return a * b + c; });
  table.add<math::AbsIOp>(evaluateIntegerAbs);
  table.add<math::CountLeadingZerosOp>(evaluateLeadingZeros);
  table.add<math::FPowIOp>(evaluateIntegerPower);
}
