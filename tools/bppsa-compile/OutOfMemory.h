//===- OutOfMemory.h - the end of a compilation without memory --*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_TOOLS_BPPSA_COMPILE_OUTOFMEMORY_H
#define BPPSA_TOOLS_BPPSA_COMPILE_OUTOFMEMORY_H

namespace bppsa {

/// Makes the process end with one line and status 1, and without temporary files, where memory or
/// threads cannot be had. LLVM would abort, as it does after errors of its own.
void reportOutOfMemory();

} // namespace bppsa

#endif // BPPSA_TOOLS_BPPSA_COMPILE_OUTOFMEMORY_H
