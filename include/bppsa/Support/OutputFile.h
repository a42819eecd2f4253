//===- OutputFile.h - writes files atomically -------------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_SUPPORT_OUTPUTFILE_H
#define BPPSA_SUPPORT_OUTPUTFILE_H

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/raw_ostream.h"

namespace bppsa {

/// Programs are executable.
enum class FileMode { Data, Program };

/// Writes a temporary file in the same directory and renames it; leaves no file behind on failure.
/// Read-only files are not replaced; devices and pipes are written in place. Errors: `cannot write
/// PATH: REASON`.
llvm::Error writeFile(llvm::StringRef path, llvm::function_ref<void(llvm::raw_ostream &)> print,
                      FileMode mode = FileMode::Data);

/// Returns the error that `writeFile` would return, if known in advance.
llvm::Error checkWritable(llvm::StringRef path);

} // namespace bppsa

#endif // BPPSA_SUPPORT_OUTPUTFILE_H
