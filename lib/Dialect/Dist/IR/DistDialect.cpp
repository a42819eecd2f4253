//===- DistDialect.cpp - the dist dialect ---------------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Dialect/Dist/IR/Dist.h"

using namespace bppsa::dist;

#include "bppsa/Dialect/Dist/IR/DistDialect.cpp.inc"

void DistDialect::initialize() {
  addOperations<
#define GET_OP_LIST
#include "bppsa/Dialect/Dist/IR/DistOps.cpp.inc"
      >();
}
