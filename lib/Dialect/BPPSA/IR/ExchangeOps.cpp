//===- ExchangeOps.cpp - steps of several ranks ---------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Dialect/BPPSA/IR/BPPSAExchange.h"
#include "bppsa/Dialect/BPPSA/IR/DiscardableAttributes.h"

using namespace mlir;
using namespace bppsa;

#define GET_OP_CLASSES
#include "bppsa/Dialect/BPPSA/IR/BPPSAExchangeOps.cpp.inc"

/// The exchange of gradients knows arrays by arguments with names.
static LogicalResult verifyArgument(Operation *op, Value value, StringRef attribute) {
  auto argument = dyn_cast<BlockArgument>(value);
  auto function =
      argument ? dyn_cast<FunctionOpInterface>(argument.getOwner()->getParentOp()) : nullptr;
  if (!function)
    return op->emitOpError() << "needs an argument of the function, found another value; use the "
                                "argument with '"
                             << attribute << "'";
  if (!function.getArgAttr(argument.getArgNumber(), attribute))
    return op->emitOpError() << "needs an argument with '" << attribute << "', found argument "
                             << argument.getArgNumber() << " without; use another one";
  return success();
}

LogicalResult AwaitParameterOp::verify() {
  return verifyArgument(*this, getParameter(), attrs::Parameter::getName());
}

LogicalResult SignalGradientOp::verify() {
  return verifyArgument(*this, getGradient(), attrs::Gradient::getName());
}
