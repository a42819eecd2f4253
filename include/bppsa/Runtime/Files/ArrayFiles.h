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

/// An .npz file whose headers are in memory, or arrays of the embedding program in its place. The
/// file is only open during reads, so that a data set may consist of any number of files.
struct ArrayFile {
  /// Empty for arrays in memory.
  std::string path;
  std::map<std::string, ArrayArgument> arguments;
  std::map<std::string, NpyHeader> headers;
  /// The file offsets of arrays that can be read in place (NpzReader::offset).
  std::map<std::string, uint64_t> offsets;
  uint32_t fingerprint = 0;
  /// The index of its first sample in the data set, and its number of samples.
  int64_t first = 0, count = 0;
  /// Used to detect changes of the file: size in bytes and modification time in nanoseconds.
  int64_t size = 0, changed = 0;

  explicit ArrayFile(const std::string &path);
  /// Throws UsageError for duplicate names. The arrays' memory must outlive this object.
  explicit ArrayFile(const ArrayArguments &arrays);
  std::string prefix() const;
  /// Reads array `name` in C order and verifies its checksum. Throws Error also if the file has
  /// changed since its headers were read.
  Array read(const std::string &name) const;
};

/// Opens the file `path`, or the .npz files in the directory `path`, sorted by name. Throws Error
/// if a file cannot be read or the directory contains none.
std::vector<ArrayFile> findArrayFiles(const std::string &path);

/// Reads parts of an array in place.
class ArrayPart {
public:
  /// Throws Error if the file has changed since its headers were read.
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

/// The bytes that this process can still allocate: available system memory, or less if a limit is
/// set.
uint64_t availableMemory();

} // namespace bppsa::runtime

#endif // BPPSA_RUNTIME_FILES_ARRAYFILES_H
