//===- Npz.h - NumPy archives -----------------------------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_SUPPORT_NPZ_H
#define BPPSA_SUPPORT_NPZ_H

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <string>
#include <vector>

namespace bppsa {

/// One array of an archive, in C order.
struct NpyArray {
  /// Name in the archive, without the suffix ".npy".
  std::string name;
  /// NumPy's type string: "<f4", "<f8", "<i4", "<i8" or "|b1".
  std::string type;
  llvm::SmallVector<int64_t, 4> shape;
  /// The elements, little endian.
  std::vector<char> data;
};

/// Number of bytes of one element of `type`, 0 where the type is unknown.
size_t getNpyElementSize(llvm::StringRef type);

/// Reads every array of the archive `path`, stored or compressed. Fails with a
/// line that names file and array.
llvm::Expected<std::vector<NpyArray>> readNpz(const std::string &path);

/// Writes `arrays`, uncompressed, to the archive `path`.
llvm::Error writeNpz(const std::string &path, llvm::ArrayRef<NpyArray> arrays);

} // namespace bppsa

#endif // BPPSA_SUPPORT_NPZ_H
