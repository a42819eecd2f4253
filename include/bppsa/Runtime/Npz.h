//===- Npz.h - NumPy archives ---------------------------------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_RUNTIME_NPZ_H
#define BPPSA_RUNTIME_NPZ_H

#include "bppsa/Runtime/AtomicFile.h"
#include "bppsa/Runtime/DType.h"
#include "bppsa/Runtime/Memory.h"

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace bppsa::runtime {

/// A dense array in C order.
struct Array {
  DType dtype = DType::F32;
  std::vector<int64_t> shape;
  Buffer data;

  int64_t elements() const;
  template <typename T> const T *as() const { return reinterpret_cast<const T *>(data.data()); }
  template <typename T> T *as() { return reinterpret_cast<T *>(data.data()); }
};

struct Npz {
  std::map<std::string, Array> arrays;
  /// Identifies the contents: the checksums of the entries, with their names, combined.
  uint32_t fingerprint = 0;
};

/// Reads every array of an .npz file (stored or deflated, zip64, .npy versions 1 to 3; Fortran
/// order is brought into C order). Throws Error, naming file and array, when the file is damaged or
/// holds a type other than those of DType.
Npz readNpz(const std::string &path);

/// The product of the extents; throws Error when it does not fit.
int64_t elementCount(const std::vector<int64_t> &shape);

/// Writes an .npz file (stored) that appears whole or not at all.
class NpzWriter {
public:
  explicit NpzWriter(const std::string &path);
  ~NpzWriter();
  void add(const std::string &name, DType dtype, const std::vector<int64_t> &shape,
           const void *data);
  void commit();

private:
  std::string path;
  AtomicFile file;
  void *archive = nullptr;
  std::set<std::string> names;
};

} // namespace bppsa::runtime

#endif // BPPSA_RUNTIME_NPZ_H
