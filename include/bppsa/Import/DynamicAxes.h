//===- DynamicAxes.h - make fixed sizes symbolic ----------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// Exporters that are not told which axes vary write the sizes of the example into the graph inputs
// and into constants computed from them.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_IMPORT_DYNAMICAXES_H
#define BPPSA_IMPORT_DYNAMICAXES_H

#include "bppsa/Support/BatchAxes.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Support/LLVM.h"
#include "llvm/Support/MemoryBufferRef.h"
#include <string>

namespace bppsa {

/// Returns the model in `buffer` with the fixed sizes of `axes` made symbolic. Removes initial
/// states that are zero. Emits an error if an axis does not exist, is not fixed, or is needed by a
/// node.
mlir::FailureOr<std::string> releaseAxes(llvm::MemoryBufferRef buffer, mlir::MLIRContext *context,
                                         llvm::ArrayRef<BatchAxisRequest> axes);

} // namespace bppsa

#endif // BPPSA_IMPORT_DYNAMICAXES_H
