//===- Passes.h - passes on products of explicit Jacobians ------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_PRODUCTS_PASSES_H
#define BPPSA_PRODUCTS_PASSES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/Pass.h"

namespace bppsa {

#define GEN_PASS_DECL
#include "bppsa/Products/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "bppsa/Products/Passes.h.inc"

} // namespace bppsa

#endif // BPPSA_PRODUCTS_PASSES_H
