//===- Dependences.cpp - dependences of values in a step ------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Dialect/BPPSA/Analysis/Dependences.h"
#include "bppsa/Dialect/BPPSA/IR/DiscardableAttributes.h"
#include "mlir/Transforms/RegionUtils.h"

using namespace mlir;
using namespace bppsa;

SetVector<Value> bppsa::getUsedValues(Operation *op) {
  SetVector<Value> values(op->operand_begin(), op->operand_end());
  getUsedValuesDefinedAbove(op->getRegions(), values);
  return values;
}

SmallVector<Value> bppsa::getReadValues(Operation *op, function_ref<bool(Value)> isCounted) {
  SmallVector<Value> read(op->getOperands());
  SetVector<Value> captured;
  getUsedValuesDefinedAbove(op->getRegions(), captured);
  llvm::copy_if(captured, std::back_inserter(read), [&](Value value) {
    return isCounted(value) && !llvm::is_contained(op->getOperands(), value);
  });
  return read;
}

Dependence bppsa::getArgumentDependence(FunctionOpInterface function, unsigned number) {
  if (attrs::Gradient::ofArgument(function, number))
    return Dependence::Constants;
  if (attrs::Target::ofArgument(function, number) || attrs::Weight::ofArgument(function, number))
    return Dependence::Targets;
  return attrs::Parameter::ofArgument(function, number) ? Dependence::Parameters : Dependence::Data;
}

Dependences::Dependences(FunctionOpInterface function) {
  Block &block = function.getFunctionBody().front();
  for (BlockArgument argument : block.getArguments())
    dependences[argument] = getArgumentDependence(function, argument.getArgNumber());
  for (Operation &op : block) {
    auto dependence = Dependence::Constants;
    if (!isa<tensor::DimOp>(op))
      for (Value operand : getUsedValues(&op))
        dependence = std::max(dependence, get(operand));
    for (Value result : op.getResults())
      dependences[result] = dependence;
  }
}
