//===- Npz.h - NumPy archives ---------------------------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_RUNTIME_FILES_NPZ_H
#define BPPSA_RUNTIME_FILES_NPZ_H

#include "bppsa/Runtime/Files/AtomicFile.h"
#include "bppsa/Runtime/Files/DType.h"
#include "bppsa/Runtime/Files/NpyHeader.h"
#include "bppsa/Runtime/Memory.h"

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace bppsa::runtime {

struct Array {
  DType dtype = DType::F32;
  std::vector<int64_t> shape;
  Buffer data;

  int64_t elements() const;
  template <typename T> const T *as() const { return reinterpret_cast<const T *>(data.data()); }
  template <typename T> T *as() { return reinterpret_cast<T *>(data.data()); }
};

uint32_t fingerprintOf(const std::map<std::string, NpyHeader> &headers,
                       const std::map<std::string, uint32_t> &checksums);

/// Reads .npz files: stored or deflated, zip64, .npy versions 1 to 3. Errors name file and array.
class NpzReader {
public:
  /// Reads headers only. Throws Error for damaged files and unsupported types.
  explicit NpzReader(const std::string &path);
  ~NpzReader();
  NpzReader(const NpzReader &) = delete;
  NpzReader &operator=(const NpzReader &) = delete;

  const std::map<std::string, NpyHeader> &headers() const { return found; }
  uint32_t fingerprint() const { return fingerprintOf(found, checksums); }
  /// Returns nothing unless the elements are uncompressed and in C order.
  std::optional<uint64_t> offset(const std::string &name) const;
  /// Reads array `name` in C order. Throws Error if damaged.
  Array read(const std::string &name);

private:
  void readDirectory(uint64_t fileSize);
  [[noreturn]] void failAt(const std::string &name, const std::string &what) const;

  std::string path;
  void *archive = nullptr;
  std::map<std::string, NpyHeader> found;
  std::map<std::string, std::pair<uint64_t, uint64_t>> positions;
  std::map<std::string, uint64_t> offsets;
  std::map<std::string, uint32_t> checksums;
};

int64_t elementCount(const std::vector<int64_t> &shape);

/// Writes an uncompressed .npz file atomically.
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

#endif // BPPSA_RUNTIME_FILES_NPZ_H
