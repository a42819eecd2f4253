//===- OutputFile.h - files that appear whole or not at all -----*- C++ -*-===//
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

/// Whether a file is a program, which may be executed.
enum class FileMode { Data, Program };

/// Writes what `print` prints to `path`: to a file of another name in the same directory, which
/// gets the name `path` once it is complete; where that fails, no file is left behind. A file that
/// exists and is read-only is not replaced. A device or a pipe is written to as it is. Errors are
/// one line: `cannot write PATH: REASON`.
llvm::Error writeFile(llvm::StringRef path, llvm::function_ref<void(llvm::raw_ostream &)> print,
                      FileMode mode = FileMode::Data);

/// The error that `writeFile` would end with, as far as it can be told before there is anything to
/// write: `path` is a directory or read-only, or its directory is missing or cannot be written to.
llvm::Error checkWritable(llvm::StringRef path);

} // namespace bppsa

#endif // BPPSA_SUPPORT_OUTPUTFILE_H
