//===- ProgramImage.h - executables without a linker ------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_TARGET_PROGRAMIMAGE_H
#define BPPSA_TARGET_PROGRAMIMAGE_H

#include "mlir/Support/LLVM.h"
#include "llvm/ADT/ArrayRef.h"

#include <string>

namespace bppsa {

/// Returns an executable made of the bytes of bppsa-stub and of `objects`.
mlir::FailureOr<std::string> linkImage(llvm::StringRef stub, llvm::ArrayRef<std::string> objects,
                                       std::string &error);

} // namespace bppsa

#endif // BPPSA_TARGET_PROGRAMIMAGE_H
