//===- Link.h - link programs and libraries ---------------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_TARGET_LINK_H
#define BPPSA_TARGET_LINK_H

#include "mlir/Support/LLVM.h"
#include <string>

namespace bppsa {

/// Output format of the linker.
enum class LinkKind { Executable, Shared, Relocatable };

/// Links `objects`, given as bytes, and returns the bytes of the result. Executables and shared
/// libraries are linked with `archives`; nothing refers to any archive except the last. Uses files
/// in a temporary directory.
mlir::FailureOr<std::string> linkProgram(LinkKind kind, llvm::ArrayRef<std::string> objects,
                                         llvm::ArrayRef<std::string> archives, std::string &error);

bool hasLinker();

} // namespace bppsa

#endif // BPPSA_TARGET_LINK_H
