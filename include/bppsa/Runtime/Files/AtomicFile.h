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

/// A file that appears under its name only on commit(), with all data on disk. On failure, the
/// previous file is unchanged. Follows symbolic links.
class AtomicFile {
public:
  explicit AtomicFile(const std::string &path);
  ~AtomicFile();
  AtomicFile(const AtomicFile &) = delete;
  AtomicFile &operator=(const AtomicFile &) = delete;

  FILE *stream() { return file; }
  void write(const void *data, size_t size);
  void commit();

private:
  [[noreturn]] void failHere(const char *action);

  std::string path, target;
  std::string directory, temporary;
  FILE *file = nullptr;
};

/// Leaves no file behind. `option` names the flag in the message.
void requireWritable(const std::string &path, const std::string &option);

/// Also compares files that do not exist yet.
bool isSameFile(const std::string &left, const std::string &right);

void requireDistinct(const std::string &output, const std::string &input,
                     const std::string &option);

} // namespace bppsa::runtime

#endif // BPPSA_RUNTIME_FILES_ATOMICFILE_H
