//===- ArrayFiles.h - The files of a set of arrays --------------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_RUNTIME_FILES_ARRAYFILES_H
#define BPPSA_RUNTIME_FILES_ARRAYFILES_H

#include "bppsa/Runtime/Embedding/ArrayArgument.h"
#include "bppsa/Runtime/Files/Npz.h"

namespace bppsa::runtime {

/// An .npz file of which only the headers are in memory. It is open while it is read only, so that
/// a set may have any number of them. Or, in its place, arrays of the program that this library is
/// embedded in.
struct ArrayFile {
  /// Empty where there is no file.
  std::string path;
  /// Those that stand in its place, by name.
  std::map<std::string, ArrayArgument> arguments;
  std::map<std::string, NpyHeader> headers;
  /// Where arrays begin that can be read in place (NpzReader::offset).
  std::map<std::string, uint64_t> offsets;
  uint32_t fingerprint = 0;
  /// Its samples are those from `first` on of the set.
  int64_t first = 0, count = 0;
  /// What tells that the file was replaced: size in bytes, time of the last change in nanoseconds.
  int64_t size = 0, changed = 0;

  /// Reads the headers; throws Error as NpzReader does.
  explicit ArrayFile(const std::string &path);
  /// Throws UsageError where two have the same name. Their memory must stay.
  explicit ArrayFile(const ArrayArguments &arrays);
  /// What messages begin with.
  std::string prefix() const;
  /// All of array `name` in C order, with its checksum checked. Throws Error also where the file is
  /// not the one whose headers were read.
  Array read(const std::string &name) const;
};

/// The file `path`, or the .npz files in the directory `path` by the order of their names. Throws
/// Error where a file cannot be read or a directory holds none.
std::vector<ArrayFile> findArrayFiles(const std::string &path);

/// Reads parts of an array in place.
class ArrayPart {
public:
  /// Throws Error where the file is not the one whose headers were read.
  ArrayPart(const ArrayFile &file, const std::string &name);
  ~ArrayPart();
  ArrayPart(const ArrayPart &) = delete;

  /// Reads `size` bytes, from byte `start` of the array on.
  void read(uint64_t start, uint64_t size, std::byte *to);

private:
  const ArrayFile &file;
  uint64_t offset;
  /// Of the array, where it is in memory.
  const std::byte *memory = nullptr;
  int descriptor = -1;
};

/// Bytes that this process can still take: what the system says, or less where a limit is set.
uint64_t availableMemory();

} // namespace bppsa::runtime

#endif // BPPSA_RUNTIME_FILES_ARRAYFILES_H
