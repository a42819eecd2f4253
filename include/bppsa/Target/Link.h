//===- Link.h - programs and libraries from objects -------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_TARGET_LINK_H
#define BPPSA_TARGET_LINK_H

#include "mlir/Support/LLVM.h"
#include <string>

namespace bppsa {

/// What to make of the objects of a program.
enum class LinkKind { Executable, Shared, Relocatable };

/// Links `objects` into `output`; executables and shared libraries with the
/// run-time library that is installed beside the compiler at `compilerPath`.
llvm::LogicalResult linkProgram(LinkKind kind, llvm::ArrayRef<std::string> objects,
                                llvm::StringRef output, llvm::StringRef compilerPath,
                                std::string &error);

} // namespace bppsa

#endif // BPPSA_TARGET_LINK_H
