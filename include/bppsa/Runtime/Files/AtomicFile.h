//===- AtomicFile.h - Atomically replaced files ---------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_RUNTIME_FILES_ATOMICFILE_H
#define BPPSA_RUNTIME_FILES_ATOMICFILE_H

#include <cstdio>
#include <string>

namespace bppsa::runtime {

/// A file that is written under a temporary name in the target directory and renamed by commit(),
/// after all data has reached the disk. On any earlier failure (an error, a full disk, a kill), the
/// previous file is unchanged. If the file system supports it, the unfinished file has no name.
/// Symbolic links are followed.
class AtomicFile {
public:
  explicit AtomicFile(const std::string &path);
  ~AtomicFile();
  AtomicFile(const AtomicFile &) = delete;
  AtomicFile &operator=(const AtomicFile &) = delete;

  /// The open stream. Errors on it are detected by commit() at the latest.
  FILE *stream() { return file; }
  void write(const void *data, size_t size);
  /// Flushes, syncs and renames the file. Throws Error on failure, leaving the previous file.
  void commit();

private:
  [[noreturn]] void failHere(const char *action);

  std::string path, target;
  std::string directory, temporary;
  FILE *file = nullptr;
};

/// Throws Error if a file cannot be created at `path`. Leaves no file behind, so that a command can
/// check its outputs before it starts. `option` names the flag in the message.
void requireWritable(const std::string &path, const std::string &option);

/// Returns true if two non-empty paths refer to the same file, even if it does not exist.
bool isSameFile(const std::string &left, const std::string &right);

void requireDistinct(const std::string &output, const std::string &input,
                     const std::string &option);

} // namespace bppsa::runtime

#endif // BPPSA_RUNTIME_FILES_ATOMICFILE_H
