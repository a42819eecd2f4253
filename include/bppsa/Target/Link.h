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

enum class LinkKind { Executable, Shared, Relocatable };

/// Links `objects` with `archives` in a temporary directory and returns the bytes of the result.
mlir::FailureOr<std::string> linkProgram(LinkKind kind, llvm::ArrayRef<std::string> objects,
                                         llvm::ArrayRef<std::string> archives, std::string &error);

bool hasLinker();

} // namespace bppsa

#endif // BPPSA_TARGET_LINK_H
