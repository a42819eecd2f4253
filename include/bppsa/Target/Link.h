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

/// The bytes of what the linker makes of `objects`, which are bytes too; executables and shared
/// libraries are linked with the archive `runtimeLibrary`. Files are in a temporary directory
/// meanwhile.
mlir::FailureOr<std::string> linkProgram(LinkKind kind, llvm::ArrayRef<std::string> objects,
                                         llvm::StringRef runtimeLibrary, std::string &error);

} // namespace bppsa

#endif // BPPSA_TARGET_LINK_H
