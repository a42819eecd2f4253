//===- Elementwise.cpp - elementwise ops and casts ------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "../../Graph/Elements.h"
#include "../../Graph/Formula.h"
#include "../../Model/Importer.h"
#include "../OpImporters.h"
#include "bppsa/Dialect/BPPSA/IR/BPPSA.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/ADT/StringMap.h"

using namespace mlir;
using namespace bppsa;

static Value makeFloat(OpBuilder &builder, Location loc, float value) {
  return arith::ConstantOp::create(builder, loc, builder.getF32FloatAttr(value));
}

static Value makeSign(const Formula &f, Value x) {
  Value isNegative = f.compare(arith::CmpFPredicate::OLT, x, 0);
  Value negative = f.select(isNegative, f.constant(-1), f.constant(0));
  return f.select(f.isPositive(x), f.constant(1), negative);
}

template <typename OpTy> static Value makeOp(const Formula &f, Value x) {
  return OpTy::create(f.b, f.loc, x);
}

static Value makeUnaryFloat(StringRef op, OpBuilder &b, Location loc, Value operand) {
  using Builder = Value (*)(const Formula &, Value);
  static const llvm::StringMap<Builder> builders = {
      {"Abs", makeOp<math::AbsFOp>},
      {"Atan", makeOp<math::AtanOp>},
      {"Ceil", makeOp<math::CeilOp>},
      {"Cos", makeOp<math::CosOp>},
      {"Erf", makeOp<math::ErfOp>},
      {"Exp", makeOp<math::ExpOp>},
      {"Floor", makeOp<math::FloorOp>},
      {"Log", makeOp<math::LogOp>},
      {"Neg", makeOp<arith::NegFOp>},
      {"Reciprocal", [](const Formula &f, Value x) { return f.div(f.constant(1), x); }},
      {"Relu", [](const Formula &f, Value x) { return f.max(x, 0); }},
      {"Round", makeOp<math::RoundEvenOp>},
      {"Sigmoid", makeOp<SigmoidOp>},
      {"Sign", makeSign},
      {"Sin", makeOp<math::SinOp>},
      {"Sqrt", makeOp<math::SqrtOp>},
      {"Tanh", makeOp<math::TanhOp>},
  };
  return builders.lookup(op)(Formula{b, loc, operand.getType()}, operand);
}

static MaybeExpr evaluateUnary(StringRef op, AffineExpr x, ArrayRef<int64_t> minSizes) {
  std::optional<int64_t> low = getLowerBound(x, minSizes);
  if (op == "Abs" && low && *low >= 0)
    return x;
  if (op == "Abs" && !getConstant(x))
    return std::nullopt;
  return multiplyExprs(x, getAffineConstantExpr(-1, x.getContext()));
}

static Value makeUnaryInteger(StringRef op, OpBuilder &b, Location loc, Value x) {
  if (op == "Abs")
    return math::AbsIOp::create(b, loc, x);
  Value zero = arith::ConstantOp::create(b, loc, b.getZeroAttr(x.getType()));
  return arith::SubIOp::create(b, loc, zero, x);
}

LogicalResult bppsa::importUnary(Node &node) {
  const Tensor &x = node.input(0);
  if (x.elements)
    if (std::optional<Tensor> result =
            broadcastElements(node.graph, x.elementType, x, [&](ArrayRef<AffineExpr> arguments) {
              return evaluateUnary(node.getOp(), arguments[0], node.graph.minSizes);
            }))
      return node.setOutput(0, *result);
  return node.setOutput(node.graph.makeElementwise(
      x, x.elementType, [&](OpBuilder &b, Location loc, ValueRange arguments) {
        return x.elementType.isF32() ? makeUnaryFloat(node.getOp(), b, loc, arguments[0])
                                     : makeUnaryInteger(node.getOp(), b, loc, arguments[0]);
      }));
}

static Value makeBinaryFloat(StringRef op, OpBuilder &b, Location loc, Value x, Value y) {
  if (op == "Add")
    return arith::AddFOp::create(b, loc, x, y);
  if (op == "Div")
    return arith::DivFOp::create(b, loc, x, y);
  if (op == "Mul")
    return arith::MulFOp::create(b, loc, x, y);
  assert(op == "Sub" && "the table has no other binary op on floats");
  return arith::SubFOp::create(b, loc, x, y);
}

static Value makeBinaryInteger(StringRef op, OpBuilder &b, Location loc, Value x, Value y) {
  if (op == "Add")
    return arith::AddIOp::create(b, loc, x, y);
  if (op == "Sub")
    return arith::SubIOp::create(b, loc, x, y);
  if (op == "Mul")
    return arith::MulIOp::create(b, loc, x, y);
  assert(op == "Div" && "the table has no other binary op on integers");
  // Avoid division by 0 and -1, which may trap.
  auto constant = [&](int64_t value) -> Value {
    return arith::ConstantOp::create(b, loc, b.getIntegerAttr(x.getType(), value));
  };
  auto isEqual = [&](int64_t value) -> Value {
    return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, y, constant(value));
  };
  Value isZero = isEqual(0), isMinusOne = isEqual(-1);
  Value isSpecial = arith::OrIOp::create(b, loc, isZero, isMinusOne);
  Value divisor = arith::SelectOp::create(b, loc, isSpecial, constant(1), y);
  Value quotient = arith::DivSIOp::create(b, loc, x, divisor);
  Value negated = arith::SubIOp::create(b, loc, constant(0), x);
  quotient = arith::SelectOp::create(b, loc, isMinusOne, negated, quotient);
  return arith::SelectOp::create(b, loc, isZero, constant(0), quotient);
}

static MaybeExpr evaluateBinary(StringRef op, AffineExpr x, AffineExpr y,
                                ArrayRef<int64_t> minSizes) {
  if (op == "Add")
    return addExprs(x, y);
  if (op == "Sub")
    return subtractExprs(x, y);
  if (op == "Mul")
    return multiplyExprs(x, y);
  assert(op == "Div" && "the table has no other binary op");
  return divideExprs(x, y, minSizes);
}

LogicalResult bppsa::importBinary(Node &node) {
  if (failed(node.requireOneElementType({0, 1})))
    return failure();
  const Tensor &a = node.input(0), &b = node.input(1);
  Type elementType = a.elementType;
  if (a.elements && b.elements) {
    std::optional<Tensor> result =
        broadcastElements(node.graph, elementType, {a, b}, [&](ArrayRef<AffineExpr> arguments) {
          return evaluateBinary(node.getOp(), arguments[0], arguments[1], node.graph.minSizes);
        });
    if (result)
      return node.setOutput(0, *result);
  }
  return node.setOutput(node.graph.makeElementwise(
      {a, b}, elementType, [&](OpBuilder &builder, Location loc, ValueRange arguments) {
        return a.elementType.isF32()
                   ? makeBinaryFloat(node.getOp(), builder, loc, arguments[0], arguments[1])
                   : makeBinaryInteger(node.getOp(), builder, loc, arguments[0], arguments[1]);
      }));
}

/// Computes in double precision and rounds towards zero, as ONNX Runtime does.
static FailureOr<Tensor> makeIntegerPower(GraphBuilder &graph, const Tensor &base,
                                          const Tensor &exponent) {
  return graph.makeElementwise(
      {base, exponent}, base.elementType, [&](OpBuilder &b, Location loc, ValueRange in) -> Value {
        Type wide = b.getF64Type();
        Value x = arith::SIToFPOp::create(b, loc, wide, in[0]);
        Value y = exponent.elementType.isF32()
                      ? arith::ExtFOp::create(b, loc, wide, in[1]).getResult()
                      : arith::SIToFPOp::create(b, loc, wide, in[1]).getResult();
        Value power = math::PowFOp::create(b, loc, x, y);
        return arith::FPToSIOp::create(b, loc, base.elementType, power);
      });
}

LogicalResult bppsa::importPow(Node &node) {
  const Tensor &base = node.input(0), &exponent = node.input(1);
  Type type = base.elementType;
  if (!type.isF32())
    return node.setOutput(makeIntegerPower(node.graph, base, exponent));
  std::optional<double> constant = getSplatConstant(exponent);
  // Small powers are exact products that have a derivative at 0.
  if (constant && exponent.getRank() <= base.getRank() &&
      llvm::all_of(exponent.dims, [](const Dim &dim) { return dim.isOne(); })) {
    double power = *constant;
    return node.setOutput(node.graph.makeElementwise(
        base, type, [&](OpBuilder &b, Location loc, ValueRange arguments) -> Value {
          Value x = arguments[0];
          if (power == 0.5)
            return math::SqrtOp::create(b, loc, x);
          if (power == 1.0)
            return x;
          if (power == 2.0)
            return arith::MulFOp::create(b, loc, x, x);
          if (power == 3.0)
            return arith::MulFOp::create(b, loc, x, arith::MulFOp::create(b, loc, x, x));
          return math::PowFOp::create(b, loc, x, makeFloat(b, loc, power));
        }));
  }
  return node.setOutput(node.graph.makeElementwise(
      {base, exponent}, type, [&](OpBuilder &b, Location loc, ValueRange arguments) {
        Value y = arguments[1];
        if (!exponent.elementType.isF32())
          y = arith::SIToFPOp::create(b, loc, type, y);
        return math::PowFOp::create(b, loc, arguments[0], y);
      }));
}

static Value makeCast(OpBuilder &b, Location loc, Value x, Type to) {
  Type from = x.getType();
  bool fromFloat = isa<FloatType>(from), toFloat = isa<FloatType>(to);
  if (from == to)
    return x;
  if (to.isInteger(1)) {
    Value zero = arith::ConstantOp::create(b, loc, b.getZeroAttr(from));
    if (fromFloat)
      return arith::CmpFOp::create(b, loc, arith::CmpFPredicate::UNE, x, zero);
    return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ne, x, zero);
  }
  if (fromFloat)
    return arith::FPToSIOp::create(b, loc, to, x);
  if (toFloat)
    return from.isInteger(1) ? Value(arith::UIToFPOp::create(b, loc, to, x))
                             : Value(arith::SIToFPOp::create(b, loc, to, x));
  if (from.getIntOrFloatBitWidth() > to.getIntOrFloatBitWidth())
    return arith::TruncIOp::create(b, loc, to, x);
  return from.isInteger(1) ? Value(arith::ExtUIOp::create(b, loc, to, x))
                           : Value(arith::ExtSIOp::create(b, loc, to, x));
}

static MaybeExpr evaluateCast(AffineExpr x, Type to, ArrayRef<int64_t> minSizes) {
  std::optional<int64_t> constant = getConstant(x);
  if (to.isInteger(64) || (to.isInteger(32) && (!constant || llvm::isInt<32>(*constant))))
    return x;
  if (!to.isInteger(1))
    return std::nullopt;
  std::optional<int64_t> low = getLowerBound(x, minSizes);
  if (!constant && !(low && *low >= 1))
    return std::nullopt;
  return getAffineConstantExpr(constant != 0, x.getContext());
}

static LogicalResult importCastTo(Node &node, Type to) {
  const Tensor &x = node.input(0);
  if (x.elementType == to)
    return node.setOutput(0, x);
  if (x.elements && isa<IntegerType>(to))
    if (std::optional<Tensor> result =
            broadcastElements(node.graph, to, x, [&](ArrayRef<AffineExpr> arguments) {
              return evaluateCast(arguments[0], to, node.graph.minSizes);
            }))
      return node.setOutput(0, *result);
  return node.setOutput(
      node.graph.makeElementwise(x, to, [&](OpBuilder &b, Location loc, ValueRange arguments) {
        return makeCast(b, loc, arguments[0], to);
      }));
}

LogicalResult bppsa::importCast(Node &node) {
  return importCastTo(node, convertDataType(node.getInt("to", 0), node.graph.getContext()));
}

LogicalResult bppsa::importCastLike(Node &node) {
  return importCastTo(node, node.input(1).elementType);
}

LogicalResult bppsa::importIdentity(Node &node) { return node.setOutput(0, node.input(0)); }

static FailureOr<double> getDropoutRatio(Node &node) {
  FailureOr<double> ratio = node.getSetting("ratio", 1, 0.5);
  if (succeeded(ratio) && !(*ratio >= 0 && *ratio < 1))
    return node.emitError() << "input 'ratio' is " << describeNumber(*ratio)
                            << ", accepted: at least 0, below 1";
  return ratio;
}

static LogicalResult keepAll(Node &node) {
  const Tensor &data = node.input(0);
  if (node.wantsOutput(1) &&
      failed(node.setOutput(
          1, node.graph.makeFilled(data.dims, node.graph.builder.getBoolAttr(true)))))
    return failure();
  return node.setOutput(0, data);
}

LogicalResult bppsa::importDropout(Node &node) {
  const Tensor &data = node.input(0);
  if (!node.hasInput(2))
    return keepAll(node);
  const Tensor &mode = node.input(2);
  std::optional<int64_t> trains = mode.elements && mode.elements->size() == 1
                                      ? getConstant(mode.elements->front())
                                      : std::nullopt;
  if (!trains)
    return node.emitError() << "input 'training_mode' is not a constant, accepted: a constant";
  if (*trains == 0)
    return keepAll(node);
  FailureOr<double> ratio = getDropoutRatio(node);
  if (failed(ratio))
    return failure();
  if (*ratio == 0)
    return keepAll(node);
  if (node.isRead(1))
    return node.emitError() << "output 'mask' is used although training_mode drops elements, "
                               "accepted: only 'output'";
  OpBuilder &builder = node.graph.builder;
  auto dropout = DropoutOp::create(builder, node.graph.loc, node.graph.getValue(data),
                                   builder.getF64FloatAttr(*ratio),
                                   builder.getI64IntegerAttr(node.graph.numDropouts++));
  return node.setOutput(0, node.graph.make(dropout, data.dims));
}
