//===- ArithEvaluators.cpp - evaluators of arith, index and affine --------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Reference/Interpreter.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Index/IR/IndexOps.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/bit.h"
#include "llvm/Support/MathExtras.h"
#include <cmath>

using namespace mlir;
using namespace bppsa;

template <typename OpTy> static LogicalResult evaluateConstant(OpTy op, Interpreter &interpreter) {
  std::optional<Array> value = Array::fromAttribute(op.getValueAttr());
  if (!value)
    return op.emitOpError("must hold scalars to be interpreted");
  interpreter.set(op.getResult(), std::move(*value));
  return success();
}

static uint64_t asUnsigned(int64_t value, Type type) {
  auto integer = dyn_cast<IntegerType>(getElementTypeOrSelf(type));
  unsigned width = integer ? integer.getWidth() : 64;
  return static_cast<uint64_t>(value) & llvm::maskTrailingOnes<uint64_t>(width);
}

/// `function` is never called with a zero divisor.
template <typename OpTy>
static void addDivision(EvaluatorTable &table, int64_t (*function)(int64_t, int64_t)) {
  table.add<OpTy>([function](OpTy op, Interpreter &interpreter) -> LogicalResult {
    const Array &lhs = interpreter.get(op.getLhs()), &rhs = interpreter.get(op.getRhs());
    Array result = lhs;
    for (auto [to, divisor] : llvm::zip_equal(result.integers, rhs.integers)) {
      if (divisor == 0)
        return op.emitOpError("divides by zero");
      to = wrapInteger(function(to, divisor), op.getType());
    }
    interpreter.set(op.getResult(), std::move(result));
    return success();
  });
}

/// Signed overflow is undefined in C++ but not in arith.
static int64_t wrappedAdd(int64_t a, int64_t b) { return uint64_t(a) + uint64_t(b); }
static int64_t wrappedSub(int64_t a, int64_t b) { return uint64_t(a) - uint64_t(b); }
static int64_t wrappedMul(int64_t a, int64_t b) { return uint64_t(a) * uint64_t(b); }
static int64_t truncatedDiv(int64_t a, int64_t b) { return b == -1 ? wrappedSub(0, a) : a / b; }
static int64_t truncatedRem(int64_t a, int64_t b) { return b == -1 ? 0 : a % b; }

template <typename AddOp, typename SubOp, typename MulOp, typename DivOp, typename RemOp,
          typename FloorOp, typename CeilOp, typename MaxOp, typename MinOp>
static void addSignedOps(EvaluatorTable &table) {
  table.addIntegerBinary<AddOp>(wrappedAdd);
  table.addIntegerBinary<SubOp>(wrappedSub);
  table.addIntegerBinary<MulOp>(wrappedMul);
  addDivision<DivOp>(table, truncatedDiv);
  addDivision<RemOp>(table, truncatedRem);
  addDivision<FloorOp>(table, llvm::divideFloorSigned);
  addDivision<CeilOp>(table, llvm::divideCeilSigned);
  table.addIntegerBinary<MaxOp>([](int64_t a, int64_t b) { return std::max(a, b); });
  table.addIntegerBinary<MinOp>([](int64_t a, int64_t b) { return std::min(a, b); });
}

/// If it `divides`, `function` never gets a zero divisor.
template <typename OpTy>
static void addUnsigned(EvaluatorTable &table, uint64_t (*function)(uint64_t, uint64_t),
                        bool divides = false) {
  table.add<OpTy>([function, divides](OpTy op, Interpreter &interpreter) -> LogicalResult {
    const Array &lhs = interpreter.get(op.getLhs()), &rhs = interpreter.get(op.getRhs());
    Array result = lhs;
    for (auto [to, other] : llvm::zip_equal(result.integers, rhs.integers)) {
      if (divides && other == 0)
        return op.emitOpError("divides by zero");
      uint64_t bits = function(asUnsigned(to, op.getType()), asUnsigned(other, op.getType()));
      to = wrapInteger(static_cast<int64_t>(bits), op.getType());
    }
    interpreter.set(op.getResult(), std::move(result));
    return success();
  });
}

static LogicalResult evaluateIntegerCompare(arith::CmpIOp op, Interpreter &interpreter) {
  const Array &lhs = interpreter.get(op.getLhs()), &rhs = interpreter.get(op.getRhs());
  Type type = getElementTypeOrSelf(op.getLhs().getType());
  unsigned width = type.isIndex() ? 64 : type.getIntOrFloatBitWidth();
  Array result = Array::makeZeros(lhs.shape, /*isFloat=*/false);
  for (auto [to, a, b] : llvm::zip_equal(result.integers, lhs.integers, rhs.integers))
    to = arith::applyCmpPredicate(op.getPredicate(),
                                  APInt(64, static_cast<uint64_t>(a)).trunc(width),
                                  APInt(64, static_cast<uint64_t>(b)).trunc(width));
  interpreter.set(op.getResult(), std::move(result));
  return success();
}

static void addIntegerOps(EvaluatorTable &table) {
  addSignedOps<arith::AddIOp, arith::SubIOp, arith::MulIOp, arith::DivSIOp, arith::RemSIOp,
               arith::FloorDivSIOp, arith::CeilDivSIOp, arith::MaxSIOp, arith::MinSIOp>(table);
  addSignedOps<index::AddOp, index::SubOp, index::MulOp, index::DivSOp, index::RemSOp,
               index::FloorDivSOp, index::CeilDivSOp, index::MaxSOp, index::MinSOp>(table);
  table.addIntegerBinary<arith::AndIOp>([](int64_t a, int64_t b) { return a & b; });
  table.addIntegerBinary<arith::OrIOp>([](int64_t a, int64_t b) { return a | b; });
  table.addIntegerBinary<arith::XOrIOp>([](int64_t a, int64_t b) { return a ^ b; });
  addUnsigned<arith::ShLIOp>(table, [](uint64_t a, uint64_t b) { return b < 64 ? a << b : 0; });
  addUnsigned<arith::ShRUIOp>(table, [](uint64_t a, uint64_t b) { return b < 64 ? a >> b : 0; });
  table.addIntegerBinary<arith::ShRSIOp>(
      [](int64_t a, int64_t b) { return a >> std::min<int64_t>(b, 63); });
  addUnsigned<arith::MaxUIOp>(table, [](uint64_t a, uint64_t b) { return std::max(a, b); });
  addUnsigned<arith::MinUIOp>(table, [](uint64_t a, uint64_t b) { return std::min(a, b); });
  addUnsigned<arith::CeilDivUIOp>(
      table, [](uint64_t a, uint64_t b) { return a / b + (a % b != 0); }, /*divides=*/true);
  addUnsigned<arith::DivUIOp>(
      table, [](uint64_t a, uint64_t b) { return a / b; }, /*divides=*/true);
  addUnsigned<arith::RemUIOp>(
      table, [](uint64_t a, uint64_t b) { return a % b; }, /*divides=*/true);
  table.add<arith::CmpIOp>(evaluateIntegerCompare);
}

static double maximum(double a, double b) {
  return std::isnan(a) || std::isnan(b) ? std::nan("") : std::fmax(a, b);
}
static double minimum(double a, double b) {
  return std::isnan(a) || std::isnan(b) ? std::nan("") : std::fmin(a, b);
}

static LogicalResult evaluateFloatCompare(arith::CmpFOp op, Interpreter &interpreter) {
  const Array &lhs = interpreter.get(op.getLhs()), &rhs = interpreter.get(op.getRhs());
  Array result = Array::makeZeros(lhs.shape, /*isFloat=*/false);
  for (auto [to, a, b] : llvm::zip_equal(result.integers, lhs.reals, rhs.reals))
    to = arith::applyCmpPredicate(op.getPredicate(), APFloat(a), APFloat(b));
  interpreter.set(op.getResult(), std::move(result));
  return success();
}

static void addFloatOps(EvaluatorTable &table) {
  table.addBinary<arith::AddFOp>([](double a, double b) { return a + b; });
  table.addBinary<arith::SubFOp>([](double a, double b) { return a - b; });
  table.addBinary<arith::MulFOp>([](double a, double b) { return a * b; });
  table.addBinary<arith::DivFOp>([](double a, double b) { return a / b; });
  table.addBinary<arith::RemFOp>([](double a, double b) { return std::fmod(a, b); });
  table.addUnary<arith::NegFOp>([](double a) { return -a; });
  table.addBinary<arith::MaximumFOp>(maximum);
  table.addBinary<arith::MinimumFOp>(minimum);
  table.addBinary<arith::MaxNumFOp>([](double a, double b) { return std::fmax(a, b); });
  table.addBinary<arith::MinNumFOp>([](double a, double b) { return std::fmin(a, b); });
  table.add<arith::CmpFOp>(evaluateFloatCompare);
}

/// Preserves the value, except for wrapping.
template <typename OpTy>
static LogicalResult evaluateKeptNumber(OpTy op, Interpreter &interpreter) {
  Array result = interpreter.get(op->getOperand(0));
  for (int64_t &value : result.integers)
    value = wrapInteger(value, op->getResult(0).getType());
  interpreter.set(op->getResult(0), std::move(result));
  return success();
}

template <typename OpTy>
static LogicalResult evaluateUnsignedCast(OpTy op, Interpreter &interpreter) {
  Array result = interpreter.get(op->getOperand(0));
  for (int64_t &value : result.integers)
    value = static_cast<int64_t>(asUnsigned(value, op->getOperand(0).getType()));
  interpreter.set(op->getResult(0), std::move(result));
  return success();
}

/// i1 is stored as 0 or 1 but represents 0 or -1.
static int64_t asSigned(int64_t value, Type type) {
  return getElementTypeOrSelf(type).isInteger(1) ? -value : value;
}

static LogicalResult evaluateSignExtension(arith::ExtSIOp op, Interpreter &interpreter) {
  Array result = interpreter.get(op.getIn());
  for (int64_t &value : result.integers)
    value = asSigned(value, op.getIn().getType());
  interpreter.set(op.getResult(), std::move(result));
  return success();
}

template <typename OpTy>
static LogicalResult evaluateIntegerToFloat(OpTy op, Interpreter &interpreter) {
  const Array &source = interpreter.get(op.getIn());
  Type type = op.getIn().getType();
  Array result = Array::makeZeros(source.shape);
  for (auto [to, from] : llvm::zip_equal(result.reals, source.integers))
    to = std::is_same_v<OpTy, arith::UIToFPOp> ? static_cast<double>(asUnsigned(from, type))
                                               : static_cast<double>(asSigned(from, type));
  interpreter.set(op.getResult(), std::move(result));
  return success();
}

template <typename OpTy>
static LogicalResult evaluateFloatToInteger(OpTy op, Interpreter &interpreter) {
  const Array &source = interpreter.get(op.getIn());
  Array result = Array::makeZeros(source.shape, /*isFloat=*/false);
  for (auto [to, from] : llvm::zip_equal(result.integers, source.reals)) {
    if (!(std::abs(from) < 9.0e18))
      return op.emitOpError("converts a number that has no integer value");
    to = wrapInteger(static_cast<int64_t>(from), op.getType());
  }
  interpreter.set(op.getResult(), std::move(result));
  return success();
}

static LogicalResult evaluateBitcast(arith::BitcastOp op, Interpreter &interpreter) {
  const Array &source = interpreter.get(op.getIn());
  Type from = getElementTypeOrSelf(op.getIn().getType()), to = getElementTypeOrSelf(op.getType());
  bool fromFloat = from.isF32() && to.isInteger(32), toFloat = from.isInteger(32) && to.isF32();
  if (!fromFloat && !toFloat)
    return op.emitOpError("is evaluated between float32 and int32 only");
  Array result = Array::makeZeros(source.shape, toFloat);
  for (int64_t i = 0, count = source.getNumElements(); i < count; ++i)
    if (toFloat)
      result.reals[i] = llvm::bit_cast<float>(static_cast<int32_t>(source.integers[i]));
    else
      result.integers[i] = llvm::bit_cast<int32_t>(static_cast<float>(source.reals[i]));
  interpreter.set(op.getResult(), std::move(result));
  return success();
}

static LogicalResult evaluateSelect(arith::SelectOp op, Interpreter &interpreter) {
  const Array &condition = interpreter.get(op.getCondition());
  const Array &ifFalse = interpreter.get(op.getFalseValue());
  Array result = interpreter.get(op.getTrueValue());
  for (int64_t i = 0, count = result.getNumElements(); i < count; ++i)
    if (!condition.integers[condition.shape.empty() ? 0 : i])
      result.copyElement(i, ifFalse, i);
  interpreter.set(op.getResult(), std::move(result));
  return success();
}

static void addCasts(EvaluatorTable &table) {
  table.add<arith::ExtFOp>(evaluateKeptNumber<arith::ExtFOp>);
  table.add<arith::TruncFOp>(evaluateKeptNumber<arith::TruncFOp>);
  table.add<arith::TruncIOp>(evaluateKeptNumber<arith::TruncIOp>);
  table.add<arith::IndexCastOp>(evaluateKeptNumber<arith::IndexCastOp>);
  table.add<index::CastSOp>(evaluateKeptNumber<index::CastSOp>);
  table.add<arith::IndexCastUIOp>(evaluateUnsignedCast<arith::IndexCastUIOp>);
  table.add<arith::ExtUIOp>(evaluateUnsignedCast<arith::ExtUIOp>);
  table.add<arith::ExtSIOp>(evaluateSignExtension);
  table.add<arith::SIToFPOp>(evaluateIntegerToFloat<arith::SIToFPOp>);
  table.add<arith::UIToFPOp>(evaluateIntegerToFloat<arith::UIToFPOp>);
  table.add<arith::FPToSIOp>(evaluateFloatToInteger<arith::FPToSIOp>);
  table.add<arith::BitcastOp>(evaluateBitcast);
  table.add<arith::FPToUIOp>(evaluateFloatToInteger<arith::FPToUIOp>);
}

template <typename OpTy>
static void addAffineOp(EvaluatorTable &table, int64_t (*pick)(ArrayRef<int64_t>)) {
  table.add<OpTy>([pick](OpTy op, Interpreter &interpreter) -> LogicalResult {
    AffineMap map = op.getAffineMap();
    SmallVector<Attribute> operands, results;
    Builder builder(op.getContext());
    for (Value operand : op->getOperands())
      operands.push_back(builder.getIndexAttr(interpreter.getInteger(operand)));
    if (failed(map.constantFold(operands, results)))
      return op.emitOpError("cannot be evaluated: it divides by zero");
    SmallVector<int64_t> numbers;
    for (Attribute result : results)
      numbers.push_back(cast<IntegerAttr>(result).getInt());
    interpreter.set(op.getResult(), Array::makeIndex(pick(numbers)));
    return success();
  });
}

void bppsa::addArithEvaluators(EvaluatorTable &table) {
  table.add<arith::ConstantOp>(evaluateConstant<arith::ConstantOp>);
  table.add<index::ConstantOp>(evaluateConstant<index::ConstantOp>);
  table.add<arith::SelectOp>(evaluateSelect);
  addIntegerOps(table);
  addFloatOps(table);
  addCasts(table);
  addAffineOp<affine::AffineApplyOp>(table, [](ArrayRef<int64_t> r) { return r.front(); });
  addAffineOp<affine::AffineMinOp>(table,
                                   [](ArrayRef<int64_t> r) { return *llvm::min_element(r); });
  addAffineOp<affine::AffineMaxOp>(table,
                                   [](ArrayRef<int64_t> r) { return *llvm::max_element(r); });
}
