//===- BodySlopes.cpp - slopes of the scalars of loop nests ---------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "OperandRelation.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace bppsa;

namespace {
/// Slopes of the scalars of a body with respect to one of its arguments, or to
/// the elements that it extracts from one tensor.
class BodySlopes {
public:
  /// `isSampled` says which tensors and arguments depend on samples.
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
  /// The slope of `operand` times a factor that depends on `factors` alone.
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
  if (isa<StopGradientOp>(op) || op.getNumOperands() == 0)
    return Slope::Zero;
  Value first = op.getOperand(0), second = op.getOperand(op.getNumOperands() == 1 ? 0 : 1);
  if (isa<arith::AddFOp>(op)) {
    bool both = lookup(first) != Slope::Zero && lookup(second) != Slope::Zero;
    return std::max({lookup(first), lookup(second), both ? Slope::Shared : Slope::Zero});
  }
  if (isa<arith::SubFOp>(op))
    return std::max(lookup(first), scale(second, {}));
  if (isa<arith::NegFOp, arith::ExtFOp, arith::TruncFOp>(op))
    return scale(first, {});
  if (isa<arith::MulFOp>(op))
    return std::max(scale(first, second), scale(second, first));
  if (isa<arith::DivFOp>(op) && lookup(second) == Slope::Zero)
    return scale(first, second);
  if (isa<arith::SelectOp>(op))
    return std::max(scale(second, first), scale(op.getOperand(2), first));
  if (auto extract = dyn_cast<tensor::ExtractOp>(op)) {
    bool moves = llvm::any_of(extract.getIndices(), [&](Value i) { return sampled.contains(i); });
    Slope slope = moves ? Slope::PerSample : Slope::One;
    return extract.getTensor() == target ? slope : Slope::Zero;
  }
  bool depends =
      llvm::any_of(op.getOperands(), [&](Value operand) { return lookup(operand) != Slope::Zero; });
  return depends ? Slope::PerSample : Slope::Zero;
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
