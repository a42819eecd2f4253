//===- AtomicFile.h - Files that appear whole or not at all ---------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_RUNTIME_FILES_ATOMICFILE_H
#define BPPSA_RUNTIME_FILES_ATOMICFILE_H

#include <cstdio>
#include <string>

namespace bppsa::runtime {

/// A file that is written beside its final name and moved there by commit(), after everything has
/// reached the disk. Whatever happens before (an error, a full disk, a kill), the previous file
/// stays as it was. Where the file system allows it, the unfinished file has no name at all.
/// Symbolic links are followed.
class AtomicFile {
public:
  /// Throws Error when `path` cannot be written.
  explicit AtomicFile(const std::string &path);
  ~AtomicFile();
  AtomicFile(const AtomicFile &) = delete;
  AtomicFile &operator=(const AtomicFile &) = delete;

  /// The open stream; errors on it are noticed by commit() at the latest.
  FILE *stream() { return file; }
  void write(const void *data, size_t size);
  /// Flush, fsync, rename; throws Error and leaves the previous file when any of it fails.
  void commit();

private:
  [[noreturn]] void failHere(const char *action);

  /// As it was given, and the file that it leads to.
  std::string path, target;
  std::string directory, temporary;
  FILE *file = nullptr;
};

/// Throws Error when a file could not be created at (or moved to) `path`. Leaves nothing behind, so
/// that a command can refuse its outputs before it starts to work. `option` names the flag.
void requireWritable(const std::string &path, const std::string &option);

/// Whether both paths, neither empty, lead to one file, be it there or not.
bool isSameFile(const std::string &left, const std::string &right);

/// Throws Error when `output` is the very file `input`.
void requireDistinct(const std::string &output, const std::string &input,
                     const std::string &option);

} // namespace bppsa::runtime

#endif // BPPSA_RUNTIME_FILES_ATOMICFILE_H
