//===- JacobianDialect.cpp - the jacobian dialect -------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Dialect/Jacobian/IR/Jacobian.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace bppsa::jacobian;

#include "bppsa/Dialect/Jacobian/IR/JacobianDialect.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "bppsa/Dialect/Jacobian/IR/JacobianAttributes.cpp.inc"

#define GET_TYPEDEF_CLASSES
#include "bppsa/Dialect/Jacobian/IR/JacobianTypes.cpp.inc"

void JacobianDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "bppsa/Dialect/Jacobian/IR/JacobianAttributes.cpp.inc"
      >();
  addTypes<
#define GET_TYPEDEF_LIST
#include "bppsa/Dialect/Jacobian/IR/JacobianTypes.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "bppsa/Dialect/Jacobian/IR/JacobianOps.cpp.inc"
      >();
}

LogicalResult JacobianDialect::verifyOperationAttribute(Operation *op, NamedAttribute attribute) {
  if (attribute.getName() != OperandsAttrHelper::getNameStr())
    return op->emitError() << "the dialect has no attribute '" << attribute.getName().getValue()
                           << "' for operations; remove it";
  if (isa<OperandJacobiansAttr>(attribute.getValue()))
    return success();
  return op->emitError()
         << "attribute '" << attribute.getName().getValue()
         << "' must hold the Jacobians of operands, '#jacobian.operands<...>', found "
         << attribute.getValue();
}
