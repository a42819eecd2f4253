//===- Variadic.cpp - variadic elementwise ops and Mod --------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "../../Graph/Elements.h"
#include "../../Model/Importer.h"
#include "../OpImporters.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace bppsa;

static Value joinFloats(StringRef op, OpBuilder &b, Location loc, Value x, Value y) {
  if (op == "Max")
    return arith::MaximumFOp::create(b, loc, x, y);
  if (op == "Min")
    return arith::MinimumFOp::create(b, loc, x, y);
  return arith::AddFOp::create(b, loc, x, y);
}

static MaybeExpr chooseExpr(bool isMax, AffineExpr x, AffineExpr y, ArrayRef<int64_t> minSizes) {
  if (isAtLeast(x, y, minSizes))
    return isMax ? x : y;
  if (isAtLeast(y, x, minSizes))
    return isMax ? y : x;
  return std::nullopt;
}

static std::optional<Tensor> evaluate(Node &node, ArrayRef<Tensor> operands) {
  if (!llvm::all_of(operands, [](const Tensor &operand) { return operand.elements.has_value(); }))
    return std::nullopt;
  bool isMax = node.getOp() == "Max";
  return broadcastElements(
      node.graph, operands[0].elementType, operands, [&](ArrayRef<AffineExpr> arguments) {
        MaybeExpr result = arguments[0];
        for (AffineExpr argument : arguments.drop_front())
          result =
              result ? chooseExpr(isMax, *result, argument, node.graph.minSizes) : std::nullopt;
        return result;
      });
}

LogicalResult bppsa::importVariadic(Node &node) {
  StringRef op = node.getOp();
  SmallVector<Tensor> operands;
  SmallVector<size_t> indices;
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    operands.push_back(node.input(i));
    indices.push_back(i);
  }
  if (failed(node.requireOneElementType(indices)))
    return failure();
  if (std::optional<Tensor> result = evaluate(node, operands))
    return node.setOutput(0, *result);
  Type type = operands[0].elementType;
  auto join = [&](OpBuilder &b, Location loc, Value x, Value y) -> Value {
    if (type.isF32())
      return joinFloats(op, b, loc, x, y);
    if (op == "Max")
      return arith::MaxSIOp::create(b, loc, x, y);
    return arith::MinSIOp::create(b, loc, x, y);
  };
  return node.setOutput(node.graph.makeElementwise(
      operands, type, [&](OpBuilder &b, Location loc, ValueRange arguments) {
        Value result = arguments[0];
        size_t count = operands.size();
        for (Value argument : arguments.take_front(count).drop_front())
          result = join(b, loc, result, argument);
        if (op != "Mean" || count == 1)
          return result;
        Value divisor = arith::ConstantOp::create(b, loc, b.getF32FloatAttr(count));
        return arith::DivFOp::create(b, loc, result, divisor).getResult();
      }));
}

static Value makeRemainder(OpBuilder &b, Location loc, Value x, Value y, bool ofDivisor) {
  Value remainder = arith::RemSIOp::create(b, loc, x, y);
  if (!ofDivisor)
    return remainder;
  Value zero = arith::ConstantOp::create(b, loc, b.getZeroAttr(x.getType()));
  auto compare = [&](arith::CmpIPredicate predicate, Value value) -> Value {
    return arith::CmpIOp::create(b, loc, predicate, value, zero);
  };
  Value signs = arith::XOrIOp::create(b, loc, remainder, y);
  Value isOther = arith::AndIOp::create(b, loc, compare(arith::CmpIPredicate::ne, remainder),
                                        compare(arith::CmpIPredicate::slt, signs));
  Value shifted = arith::AddIOp::create(b, loc, remainder, y);
  return arith::SelectOp::create(b, loc, isOther, shifted, remainder);
}

static Value makeFloatRemainder(OpBuilder &b, Location loc, Value x, Value y, bool ofDivisor) {
  Value remainder = arith::RemFOp::create(b, loc, x, y);
  if (!ofDivisor)
    return remainder;
  Value zero = arith::ConstantOp::create(b, loc, b.getZeroAttr(x.getType()));
  auto compare = [&](arith::CmpFPredicate predicate, Value value) -> Value {
    return arith::CmpFOp::create(b, loc, predicate, value, zero);
  };
  Value isOther = arith::XOrIOp::create(b, loc, compare(arith::CmpFPredicate::OLT, remainder),
                                        compare(arith::CmpFPredicate::OLT, y));
  isOther = arith::AndIOp::create(b, loc, isOther, compare(arith::CmpFPredicate::ONE, remainder));
  Value shifted = arith::AddFOp::create(b, loc, remainder, y);
  return arith::SelectOp::create(b, loc, isOther, shifted, remainder);
}

static MaybeExpr evaluateRemainder(AffineExpr x, AffineExpr y, bool ofDivisor,
                                   ArrayRef<int64_t> minSizes) {
  std::optional<int64_t> left = getConstant(x), right = getConstant(y);
  // Dividends that are sizes are nonnegative, and divisors positive.
  if (!left || !right)
    return remainderExprs(x, y, minSizes);
  if (*right == 0)
    return std::nullopt;
  int64_t remainder = *right == -1 ? 0 : *left % *right;
  bool isOther = remainder != 0 && (remainder < 0) != (*right < 0);
  return getAffineConstantExpr(ofDivisor && isOther ? remainder + *right : remainder,
                               x.getContext());
}

LogicalResult bppsa::importMod(Node &node) {
  if (failed(node.requireOneElementType({0, 1})))
    return failure();
  const Tensor &a = node.input(0), &b = node.input(1);
  bool isFloat = a.elementType.isF32(), isFmod = node.getInt("fmod", 0) == 1;
  if (isFloat && !isFmod && node.opset < 28)
    return node.emitError() << "attribute 'fmod' is 0 for float inputs, accepted: 1, or opset 28";
  if (a.elements && b.elements)
    if (std::optional<Tensor> result = broadcastElements(
            node.graph, a.elementType, {a, b}, [&](ArrayRef<AffineExpr> arguments) {
              return evaluateRemainder(arguments[0], arguments[1], !isFmod, node.graph.minSizes);
            }))
      return node.setOutput(0, *result);
  auto isNonzero = [](AffineExpr expr) { return getConstant(expr).value_or(0) != 0; };
  if (!isFloat && !(b.elements && llvm::all_of(*b.elements, isNonzero)))
    return node.emitError() << "divides integers by a value that is zero or not constant; "
                               "accepted: nonzero constants";
  return node.setOutput(node.graph.makeElementwise(
      {a, b}, a.elementType, [&](OpBuilder &builder, Location loc, ValueRange in) -> Value {
        if (isFloat)
          return makeFloatRemainder(builder, loc, in[0], in[1], !isFmod);
        return makeRemainder(builder, loc, in[0], in[1], !isFmod);
      }));
}
