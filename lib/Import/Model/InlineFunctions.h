//===- InlineFunctions.h - model-local functions ----------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_IMPORT_MODEL_INLINEFUNCTIONS_H
#define BPPSA_LIB_IMPORT_MODEL_INLINEFUNCTIONS_H

#include "OnnxFile.h"

namespace bppsa {

/// Replaces every call of a model-local function, also in graphs inside of nodes, by the nodes of
/// the function. These are called `CALL/NODE`. Fails after an error where functions call each
/// other in a circle, a call does not fit its function, or there would be more than 2^20 nodes.
mlir::LogicalResult inlineFunctions(OnnxFile &file);

} // namespace bppsa

#endif // BPPSA_LIB_IMPORT_MODEL_INLINEFUNCTIONS_H
