//===- BPPSADialect.cpp - bppsa dialect -----------------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Dialect/BPPSA/IR/BPPSA.h"
#include "bppsa/Dialect/BPPSA/IR/BPPSASchedule.h"
#include "bppsa/Dialect/BPPSA/IR/Entry.h"
#include "bppsa/Dialect/BPPSA/IR/ProductMapping.h"
#include "bppsa/Dialect/BPPSA/IR/TaskMapping.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace bppsa;

#include "bppsa/Dialect/BPPSA/IR/BPPSADialect.cpp.inc"
#include "bppsa/Dialect/BPPSA/IR/BPPSAInterfaces.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "bppsa/Dialect/BPPSA/IR/BPPSAAttributes.cpp.inc"

void BPPSADialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "bppsa/Dialect/BPPSA/IR/BPPSAAttributes.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "bppsa/Dialect/BPPSA/IR/BPPSAOps.cpp.inc"
      >();
  attachCellOpModels(getContext());
}
