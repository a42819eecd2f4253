//===- AtomicFile.cpp - Atomically replaced files -------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Runtime/Files/AtomicFile.h"
#include "bppsa/Runtime/Error.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace bppsa::runtime;

static std::string directoryOf(const std::string &path) {
  size_t slash = path.rfind('/');
  if (slash == std::string::npos)
    return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

static std::string baseOf(const std::string &path) { return path.substr(path.rfind('/') + 1); }

static std::string temporaryName(const std::string &path) {
  std::string base = baseOf(path);
  // File systems limit names to 255 bytes.
  return text(path.substr(0, path.size() - base.size()), ".", base.substr(0, 200), ".", getpid(),
              ".tmp");
}

static void requireReplaceable(const std::string &path, const char *prefix) {
  struct stat info;
  if (path.empty() || path.back() == '/')
    fail(prefix, quote(path), ": is not the name of a file");
  if (stat(path.c_str(), &info) != 0) {
    if (errno != ENOENT)
      fail(prefix, quote(path), ": cannot be written (", strerror(errno), ")");
    return;
  }
  if (!S_ISREG(info.st_mode))
    fail(prefix, quote(path), ": exists and is not a regular file; give the name of a file");
  // rename() only checks the permissions of the directory.
  if (access(path.c_str(), W_OK) != 0)
    fail(prefix, quote(path), ": cannot be written (", strerror(errno), ")");
  if (isSameFile(path, "/proc/self/exe"))
    fail(prefix, quote(path), ": is this very program; choose another name");
}

static std::string resolve(const std::string &path) {
  char *resolved = realpath(path.c_str(), nullptr);
  std::string result = resolved ? resolved : "";
  free(resolved);
  return result;
}

static std::string followLinks(const std::string &path) {
  std::string target = resolve(path);
  return target.empty() ? path : target;
}

static int openUnfinished(const std::string &directory, const std::string &path,
                          std::string &temporary) {
  // commit() names the file through /proc.
  int descriptor = access("/proc/self/fd", X_OK) == 0
                       ? open(directory.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0666)
                       : -1;
  if (descriptor >= 0)
    return descriptor;
  std::string name = temporaryName(path);
  descriptor = open(name.c_str(), O_CREAT | O_TRUNC | O_RDWR | O_CLOEXEC, 0666);
  if (descriptor >= 0)
    temporary = name;
  return descriptor;
}

AtomicFile::AtomicFile(const std::string &path)
    : path(path), target(followLinks(path)), directory(directoryOf(target)) {
  requireReplaceable(path, "");
  int descriptor = openUnfinished(directory, target, temporary);
  if (descriptor < 0 || !(file = fdopen(descriptor, "w+b")))
    failHere("cannot be written");
}

AtomicFile::~AtomicFile() {
  if (file)
    fclose(file);
  if (!temporary.empty())
    unlink(temporary.c_str());
}

void AtomicFile::failHere(const char *action) {
  fail(quote(path), ": ", action, " (", strerror(errno), "); the previous file, if any, is kept");
}

void AtomicFile::write(const void *data, size_t size) {
  if (fwrite(data, 1, size, file) != size)
    failHere("writing failed");
}

void AtomicFile::commit() {
  if (fflush(file) != 0 || ferror(file) || fsync(fileno(file)) != 0)
    failHere("writing failed");
  if (temporary.empty()) {
    temporary = temporaryName(target);
    unlink(temporary.c_str());
    std::string open = text("/proc/self/fd/", fileno(file));
    if (linkat(AT_FDCWD, open.c_str(), AT_FDCWD, temporary.c_str(), AT_SYMLINK_FOLLOW) != 0) {
      temporary.clear();
      failHere("writing failed");
    }
  }
  if (rename(temporary.c_str(), target.c_str()) != 0)
    failHere("writing failed");
  temporary.clear();
  // Sync the directory, so that the new name survives a power failure. Ignore errors, because some
  // file systems cannot sync directories.
  int descriptor = open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor >= 0) {
    fsync(descriptor);
    close(descriptor);
  }
}

void bppsa::runtime::requireWritable(const std::string &path, const std::string &option) {
  std::string prefix = option + ": ", target = followLinks(path), temporary;
  requireReplaceable(path, prefix.c_str());
  int descriptor = openUnfinished(directoryOf(target), target, temporary);
  if (descriptor < 0)
    fail(prefix, quote(path), ": cannot be written (", strerror(errno), ")");
  close(descriptor);
  if (!temporary.empty())
    unlink(temporary.c_str());
}

bool bppsa::runtime::isSameFile(const std::string &left, const std::string &right) {
  struct stat leftInfo, rightInfo;
  bool leftExists = stat(left.c_str(), &leftInfo) == 0;
  bool rightExists = stat(right.c_str(), &rightInfo) == 0;
  if (leftExists && rightExists)
    return leftInfo.st_dev == rightInfo.st_dev && leftInfo.st_ino == rightInfo.st_ino;
  std::string directory = resolve(directoryOf(left));
  return leftExists == rightExists && !directory.empty() &&
         directory == resolve(directoryOf(right)) && baseOf(left) == baseOf(right);
}

void bppsa::runtime::requireDistinct(const std::string &output, const std::string &input,
                                     const std::string &option) {
  if (isSameFile(output, input))
    fail(option, ": ", quote(output), " is also an input of this command; choose another name");
}
