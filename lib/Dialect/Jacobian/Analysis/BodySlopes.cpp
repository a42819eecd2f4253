//===- BodySlopes.cpp - slopes of loop nest bodies ------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "OperandRelation.h"

using namespace mlir;
using namespace bppsa;

namespace {
/// Slopes of the scalars of a body with respect to an argument or the elements extracted from one
/// tensor.
class BodySlopes {
public:
  BodySlopes(Block &body, Value target, llvm::function_ref<bool(Value)> isSampled)
      : target(target), isSampledInput(isSampled) {
    slopes[target] = Slope::One;
    for (BlockArgument argument : body.getArguments())
      if (isSampled(argument))
        sampled.insert(argument);
    for (Operation &op : body.without_terminator())
      visit(op);
  }
  Slope lookup(Value value) const { return slopes.lookup(value); }

private:
  void visit(Operation &op);
  Slope getSlope(Operation &op) const;
  Slope getSlope(Operation &op, unsigned operand) const;
  Slope scale(Value operand, ValueRange factors) const {
    if (lookup(operand) == Slope::Zero)
      return Slope::Zero;
    bool differs = llvm::any_of(factors, [&](Value factor) { return sampled.contains(factor); });
    return differs ? Slope::PerSample : std::max(lookup(operand), Slope::Shared);
  }

  Value target;
  llvm::function_ref<bool(Value)> isSampledInput;
  DenseMap<Value, Slope> slopes;
  DenseSet<Value> sampled;
};
} // namespace

Slope BodySlopes::getSlope(Operation &op) const {
  if (auto extract = dyn_cast<tensor::ExtractOp>(op)) {
    bool moves = llvm::any_of(extract.getIndices(), [&](Value i) { return sampled.contains(i); });
    Slope slope = moves ? Slope::PerSample : Slope::One;
    return extract.getTensor() == target ? slope : Slope::Zero;
  }
  Slope slope = Slope::Zero;
  bool isSum = false;
  for (auto [number, operand] : llvm::enumerate(op.getOperands())) {
    if (lookup(operand) == Slope::Zero)
      continue;
    isSum |= slope != Slope::Zero;
    slope = std::max(slope, getSlope(op, number));
  }
  // The sum of two slopes of one is not one.
  return isSum ? std::max(slope, Slope::Shared) : slope;
}

Slope BodySlopes::getSlope(Operation &op, unsigned operand) const {
  auto cell = dyn_cast<CellOpInterface>(op);
  switch (cell ? cell.getSlope(operand) : CellSlope::Opaque) {
  case CellSlope::Zero:
    return Slope::Zero;
  case CellSlope::One:
    return lookup(op.getOperand(operand));
  case CellSlope::MinusOne:
  case CellSlope::Constant:
    return scale(op.getOperand(operand), {});
  case CellSlope::ByOthers: {
    SmallVector<Value> others(op.getOperands());
    others.erase(others.begin() + operand);
    return scale(op.getOperand(operand), others);
  }
  case CellSlope::ByCondition:
    return scale(op.getOperand(operand), op.getOperand(0));
  case CellSlope::Opaque:
    return Slope::PerSample;
  }
  llvm_unreachable("unknown slope");
}

void BodySlopes::visit(Operation &op) {
  auto dependsOnSamples = [&](Value operand) {
    return sampled.contains(operand) || isSampledInput(operand);
  };
  for (Value result : op.getResults()) {
    if (llvm::any_of(op.getOperands(), dependsOnSamples))
      sampled.insert(result);
    if (isa<FloatType>(result.getType()))
      slopes[result] = getSlope(op);
  }
}

Slope bppsa::getBodySlope(Block &body, Value target, Value result,
                          llvm::function_ref<bool(Value)> isSampled) {
  return BodySlopes(body, target, isSampled).lookup(result);
}
