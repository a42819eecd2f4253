//===- OutOfMemory.h - reports exhausted memory -----------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_TOOLS_BPPSA_COMPILE_OUTOFMEMORY_H
#define BPPSA_TOOLS_BPPSA_COMPILE_OUTOFMEMORY_H

namespace bppsa {

/// If memory or threads are exhausted, lets the process print one line, remove its temporary files
/// and exit with status 1. LLVM would abort, as after internal errors.
void reportOutOfMemory();

} // namespace bppsa

#endif // BPPSA_TOOLS_BPPSA_COMPILE_OUTOFMEMORY_H
