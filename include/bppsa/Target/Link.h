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
/// libraries are linked with the `archives`, of which nothing refers to any but the last. Files are
/// in a temporary directory meanwhile.
mlir::FailureOr<std::string> linkProgram(LinkKind kind, llvm::ArrayRef<std::string> objects,
                                         llvm::ArrayRef<std::string> archives, std::string &error);

/// Whether there is what links.
bool hasLinker();

} // namespace bppsa

#endif // BPPSA_TARGET_LINK_H
