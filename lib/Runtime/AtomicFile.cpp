//===- AtomicFile.cpp - Files that appear whole or not at all -------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Runtime/AtomicFile.h"
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

/// A name in the directory of `path` that no other process uses.
static std::string temporaryName(const std::string &path) {
  size_t slash = path.rfind('/');
  std::string base = slash == std::string::npos ? path : path.substr(slash + 1);
  std::string head = slash == std::string::npos ? "" : path.substr(0, slash + 1);
  return text(head, ".", base, ".", getpid(), ".tmp");
}

static void refuseSpecialFile(const std::string &path, const char *prefix) {
  struct stat info;
  if (path.empty() || path.back() == '/')
    fail(prefix, quote(path), ": is not the name of a file");
  if (stat(path.c_str(), &info) == 0 && !S_ISREG(info.st_mode))
    fail(prefix, quote(path), ": exists and is not a regular file; give the name of a file");
}

/// Opens an unfinished file; `temporary` stays empty where the file system can keep it nameless.
static int openUnfinished(const std::string &directory, const std::string &path,
                          std::string &temporary) {
  // Its name is given to it through /proc later.
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

AtomicFile::AtomicFile(std::string target) : path(std::move(target)), directory(directoryOf(path)) {
  refuseSpecialFile(path, "");
  int descriptor = openUnfinished(directory, path, temporary);
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
    temporary = temporaryName(path);
    unlink(temporary.c_str());
    std::string open = text("/proc/self/fd/", fileno(file));
    if (linkat(AT_FDCWD, open.c_str(), AT_FDCWD, temporary.c_str(), AT_SYMLINK_FOLLOW) != 0) {
      temporary.clear();
      failHere("writing failed");
    }
  }
  if (rename(temporary.c_str(), path.c_str()) != 0)
    failHere("writing failed");
  temporary.clear();
  // The new name must survive a power cut too; file systems that cannot sync directories say so.
  int descriptor = open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor >= 0) {
    fsync(descriptor);
    close(descriptor);
  }
}

void bppsa::runtime::requireWritable(const std::string &path, const std::string &option) {
  std::string prefix = option + ": ";
  refuseSpecialFile(path, prefix.c_str());
  std::string temporary;
  int descriptor = openUnfinished(directoryOf(path), path, temporary);
  if (descriptor < 0)
    fail(prefix, quote(path), ": cannot be written (", strerror(errno), ")");
  close(descriptor);
  if (!temporary.empty())
    unlink(temporary.c_str());
}

void bppsa::runtime::requireDistinct(const std::string &output, const std::string &input,
                                     const std::string &option) {
  struct stat left, right;
  if (stat(output.c_str(), &left) == 0 && stat(input.c_str(), &right) == 0 &&
      left.st_dev == right.st_dev && left.st_ino == right.st_ino)
    fail(option, ": ", quote(output), " is also an input of this command; choose another name");
}
