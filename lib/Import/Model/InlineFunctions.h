//===- InlineFunctions.h - model-local functions ----------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_IMPORT_MODEL_INLINEFUNCTIONS_H
#define BPPSA_LIB_IMPORT_MODEL_INLINEFUNCTIONS_H

#include "OnnxFile.h"

namespace bppsa {

/// Inlines every call of a model-local function; inlined nodes are named `CALL/NODE`. Emits an
/// error if functions are recursive or the result exceeds 2^20 nodes.
mlir::LogicalResult inlineFunctions(OnnxFile &file);

} // namespace bppsa

#endif // BPPSA_LIB_IMPORT_MODEL_INLINEFUNCTIONS_H
