//===- Archives.h - archives of the interpreter's arrays --------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_TOOLS_BPPSA_INTERPRET_ARCHIVES_H
#define BPPSA_TOOLS_BPPSA_INTERPRET_ARCHIVES_H

#include "bppsa/Reference/Array.h"
#include "mlir/Support/LLVM.h"
#include <string>

namespace bppsa {

/// Supports float32, float64, int32, int64 and bool. `error` names file and array.
llvm::LogicalResult readArchive(const std::string &path, NamedArrays &arrays, std::string &error);

/// Writes float64 and int64 atomically.
llvm::LogicalResult writeArchive(const std::string &path, const NamedArrays &arrays,
                                 std::string &error);

} // namespace bppsa

#endif // BPPSA_TOOLS_BPPSA_INTERPRET_ARCHIVES_H
