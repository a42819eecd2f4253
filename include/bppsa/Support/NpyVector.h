//===- NpyVector.h - a list of numbers in an .npy file ----------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_SUPPORT_NPYVECTOR_H
#define BPPSA_SUPPORT_NPYVECTOR_H

#include "llvm/Support/Error.h"
#include <vector>

namespace bppsa {

/// The elements of the array in the .npy file at `path`: of one axis, float32 or float64 (rounded),
/// little-endian. The error is one line that names the file.
llvm::Expected<std::vector<float>> readNpyVector(llvm::StringRef path);

} // namespace bppsa

#endif // BPPSA_SUPPORT_NPYVECTOR_H
