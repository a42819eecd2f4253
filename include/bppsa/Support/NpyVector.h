//===- NpyVector.h - reads vectors from .npy files --------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_SUPPORT_NPYVECTOR_H
#define BPPSA_SUPPORT_NPYVECTOR_H

#include "llvm/Support/Error.h"
#include <vector>

namespace bppsa {

/// Reads a one-dimensional array of little-endian float32 or float64, which is rounded. The error
/// names the file.
llvm::Expected<std::vector<float>> readNpyVector(llvm::StringRef path);

} // namespace bppsa

#endif // BPPSA_SUPPORT_NPYVECTOR_H
