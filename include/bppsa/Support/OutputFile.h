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

/// The type of a file; programs are executable.
enum class FileMode { Data, Program };

/// Writes the output of `print` to a temporary file in the same directory and renames it to `path`
/// when it is complete. On failure, no file is left behind. An existing read-only file is not
/// replaced. Devices and pipes are written in place. Errors have one line: `cannot write PATH:
/// REASON`.
llvm::Error writeFile(llvm::StringRef path, llvm::function_ref<void(llvm::raw_ostream &)> print,
                      FileMode mode = FileMode::Data);

/// Returns the error that `writeFile` would return, if it is known in advance: `path` is a
/// directory or read-only, or its directory is missing or not writable.
llvm::Error checkWritable(llvm::StringRef path);

} // namespace bppsa

#endif // BPPSA_SUPPORT_OUTPUTFILE_H
