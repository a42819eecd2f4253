//===- DynamicAxes.h - sizes that an exporter fixed -------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// An exporter that is not told which axes vary writes the sizes of its example into the graph
// inputs, and into constants that it computes from them.
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

/// The bytes of the model in `buffer` with any size along axes of graph inputs whose size is fixed
/// there. Shapes of Reshape in which data flow finds such an axis follow it, and initial states of
/// zeros, which are the default, are left out. Fails after an error where an axis does not exist or
/// is not fixed, or where the graph needs its size: the error names the node.
mlir::FailureOr<std::string> releaseAxes(llvm::MemoryBufferRef buffer, mlir::MLIRContext *context,
                                         llvm::ArrayRef<BatchAxisRequest> axes);

} // namespace bppsa

#endif // BPPSA_IMPORT_DYNAMICAXES_H
