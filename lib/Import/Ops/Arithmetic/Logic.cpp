//===- Logic.cpp - comparisons, logic and Where ---------------------------===//
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

namespace {
struct Comparison {
  arith::CmpFPredicate floats;
  arith::CmpIPredicate integers;
};
} // namespace

static Comparison getComparison(StringRef op) {
  if (op == "Equal")
    return {arith::CmpFPredicate::OEQ, arith::CmpIPredicate::eq};
  if (op == "Less")
    return {arith::CmpFPredicate::OLT, arith::CmpIPredicate::slt};
  if (op == "LessOrEqual")
    return {arith::CmpFPredicate::OLE, arith::CmpIPredicate::sle};
  if (op == "Greater")
    return {arith::CmpFPredicate::OGT, arith::CmpIPredicate::sgt};
  assert(op == "GreaterOrEqual" && "the table has no other comparison");
  return {arith::CmpFPredicate::OGE, arith::CmpIPredicate::sge};
}

static std::optional<bool> isLess(AffineExpr x, AffineExpr y, ArrayRef<int64_t> minSizes) {
  MaybeExpr next = addExprs(x, getAffineConstantExpr(1, x.getContext()));
  if (next && isAtLeast(y, *next, minSizes))
    return true;
  return isAtLeast(x, y, minSizes) ? std::optional(false) : std::nullopt;
}

static std::optional<bool> compare(StringRef op, AffineExpr x, AffineExpr y,
                                   ArrayRef<int64_t> minSizes) {
  auto negate = [](std::optional<bool> value) { return value ? std::optional(!*value) : value; };
  if (op == "Less")
    return isLess(x, y, minSizes);
  if (op == "Greater")
    return isLess(y, x, minSizes);
  if (op == "LessOrEqual")
    return negate(isLess(y, x, minSizes));
  if (op == "GreaterOrEqual")
    return negate(isLess(x, y, minSizes));
  if (x == y)
    return true;
  bool differ = isLess(x, y, minSizes) == true || isLess(y, x, minSizes) == true;
  return differ ? std::optional(false) : std::nullopt;
}

LogicalResult bppsa::importComparison(Node &node) {
  if (failed(node.requireOneElementType({0, 1})))
    return failure();
  const Tensor &a = node.input(0), &b = node.input(1);
  Type boolean = node.graph.builder.getI1Type();
  if (a.elements && b.elements) {
    std::optional<Tensor> result = broadcastElements(
        node.graph, boolean, {a, b}, [&](ArrayRef<AffineExpr> arguments) -> MaybeExpr {
          std::optional<bool> value =
              compare(node.getOp(), arguments[0], arguments[1], node.graph.minSizes);
          return value ? MaybeExpr(node.graph.getExpr(*value)) : std::nullopt;
        });
    if (result)
      return node.setOutput(0, *result);
  }
  Comparison comparison = getComparison(node.getOp());
  return node.setOutput(node.graph.makeElementwise(
      {a, b}, boolean, [&](OpBuilder &builder, Location loc, ValueRange arguments) -> Value {
        if (a.elementType.isF32())
          return arith::CmpFOp::create(builder, loc, comparison.floats, arguments[0], arguments[1]);
        return arith::CmpIOp::create(builder, loc, comparison.integers, arguments[0], arguments[1]);
      }));
}

static MaybeExpr evaluateLogic(StringRef op, ArrayRef<AffineExpr> arguments) {
  SmallVector<std::optional<int64_t>> known = llvm::map_to_vector(arguments, getConstant);
  auto make = [&](bool value) { return getAffineConstantExpr(value, arguments[0].getContext()); };
  if (op == "And" && llvm::is_contained(known, std::optional<int64_t>(0)))
    return make(false);
  if (op == "Or" && llvm::is_contained(known, std::optional<int64_t>(1)))
    return make(true);
  if (llvm::is_contained(known, std::nullopt))
    return std::nullopt;
  if (op == "Not")
    return make(!*known[0]);
  return make(op == "And"  ? *known[0] && *known[1]
              : op == "Or" ? *known[0] || *known[1]
                           : *known[0] != *known[1]);
}

LogicalResult bppsa::importLogic(Node &node) {
  StringRef op = node.getOp();
  SmallVector<Tensor> operands;
  for (size_t i = 0; i < node.inputs.size(); ++i)
    operands.push_back(node.input(i));
  Type boolean = node.graph.builder.getI1Type();
  if (llvm::all_of(operands, [](const Tensor &operand) { return operand.elements.has_value(); }))
    if (std::optional<Tensor> result =
            broadcastElements(node.graph, boolean, operands, [&](ArrayRef<AffineExpr> arguments) {
              return evaluateLogic(op, arguments);
            }))
      return node.setOutput(0, *result);
  return node.setOutput(node.graph.makeElementwise(
      operands, boolean, [&](OpBuilder &b, Location loc, ValueRange in) -> Value {
        if (op == "And")
          return arith::AndIOp::create(b, loc, in[0], in[1]);
        if (op == "Or")
          return arith::OrIOp::create(b, loc, in[0], in[1]);
        Value other = op == "Not" ? arith::ConstantOp::create(b, loc, b.getBoolAttr(true)) : in[1];
        return arith::XOrIOp::create(b, loc, in[0], other);
      }));
}

LogicalResult bppsa::importWhere(Node &node) {
  if (failed(node.requireOneElementType({1, 2})))
    return failure();
  const Tensor &condition = node.input(0), &x = node.input(1), &y = node.input(2);
  if (condition.elements && x.elements && y.elements) {
    std::optional<Tensor> result =
        broadcastElements(node.graph, x.elementType, {condition, x, y},
                          [&](ArrayRef<AffineExpr> arguments) -> MaybeExpr {
                            std::optional<int64_t> isTrue = getConstant(arguments[0]);
                            return isTrue ? MaybeExpr(arguments[*isTrue ? 1 : 2]) : std::nullopt;
                          });
    if (result)
      return node.setOutput(0, *result);
  }
  return node.setOutput(node.graph.makeElementwise(
      {condition, x, y}, x.elementType, [](OpBuilder &b, Location loc, ValueRange arguments) {
        return arith::SelectOp::create(b, loc, arguments[0], arguments[1], arguments[2]);
      }));
}
