//===- ArrayFiles.h - Array files of a data set ---------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_RUNTIME_FILES_ARRAYFILES_H
#define BPPSA_RUNTIME_FILES_ARRAYFILES_H

#include "bppsa/Runtime/Embedding/ArrayArgument.h"
#include "bppsa/Runtime/Files/Npz.h"

namespace bppsa::runtime {

/// An .npz file, or arrays of the embedding program. Only open during reads, so that a data set may
/// have any number of files.
struct ArrayFile {
  std::string path;
  std::map<std::string, ArrayArgument> arguments;
  std::map<std::string, NpyHeader> headers;
  /// File offsets of arrays that can be read in place.
  std::map<std::string, uint64_t> offsets;
  uint32_t fingerprint = 0;
  int64_t first = 0, count = 0;
  /// Used to detect changes; in bytes and nanoseconds.
  int64_t size = 0, changed = 0;

  explicit ArrayFile(const std::string &path);
  /// Throws UsageError for duplicate names. The memory must outlive this object.
  explicit ArrayFile(const ArrayArguments &arrays);
  std::string prefix() const;
  /// Reads an array in C order. Throws Error if the file is damaged or has changed.
  Array read(const std::string &name) const;
};

/// Opens `path`, or the .npz files in that directory, sorted by name.
std::vector<ArrayFile> findArrayFiles(const std::string &path);

class ArrayPart {
public:
  ArrayPart(const ArrayFile &file, const std::string &name);
  ~ArrayPart();
  ArrayPart(const ArrayPart &) = delete;

  void read(uint64_t start, uint64_t size, std::byte *to);

private:
  const ArrayFile &file;
  uint64_t offset;
  const std::byte *memory = nullptr;
  int descriptor = -1;
};

/// Returns the bytes that this process can still allocate.
uint64_t availableMemory();

} // namespace bppsa::runtime

#endif // BPPSA_RUNTIME_FILES_ARRAYFILES_H
