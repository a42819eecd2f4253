//===- OutOfMemory.h - reports exhausted memory -----------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_TOOLS_BPPSA_COMPILE_OUTOFMEMORY_H
#define BPPSA_TOOLS_BPPSA_COMPILE_OUTOFMEMORY_H

namespace bppsa {

/// If memory or threads are exhausted, prints one line, removes temporary files and exits with
/// status 1. LLVM would abort.
void reportOutOfMemory();

} // namespace bppsa

#endif // BPPSA_TOOLS_BPPSA_COMPILE_OUTOFMEMORY_H
