//===- ArrayFiles.cpp - Array files of a data set -------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Runtime/Files/ArrayFiles.h"
#include "bppsa/Runtime/Error.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <limits>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

using namespace bppsa::runtime;
namespace fs = std::filesystem;

static int64_t changeTime(const struct stat &info) {
  return static_cast<int64_t>(info.st_mtim.tv_sec) * 1'000'000'000 + info.st_mtim.tv_nsec;
}

static void requireSame(const ArrayFile &file, int state, const struct stat &info) {
  if (state != 0)
    fail(quote(file.path), ": cannot be read any more (", strerror(errno),
         "); the files of a set must stay while it is in use");
  if (info.st_size != file.size || changeTime(info) != file.changed)
    fail(quote(file.path),
         ": was changed since it was opened; the files of a set must stay while it is in use");
}

ArrayFile::ArrayFile(const std::string &path) : path(path) {
  NpzReader reader(path);
  headers = reader.headers();
  fingerprint = reader.fingerprint();
  for (const auto &entry : headers)
    if (std::optional<uint64_t> offset = reader.offset(entry.first))
      offsets[entry.first] = *offset;
  struct stat info;
  if (stat(path.c_str(), &info) != 0)
    fail(quote(path), ": cannot be read (", strerror(errno), ")");
  size = info.st_size;
  changed = changeTime(info);
}

static Array readArgument(const ArrayArgument &argument) {
  uint64_t bytes = elementCount(argument.shape) * elementSize(argument.dtype);
  if (argument.isUsable(argument.dtype))
    return {argument.dtype, argument.shape, Buffer::borrow(argument.data, bytes)};
  Array copy{argument.dtype, argument.shape, Buffer::uninitialized(bytes)};
  argument.read(copy.data.data());
  return copy;
}

ArrayFile::ArrayFile(const ArrayArguments &arrays) {
  std::map<std::string, uint32_t> checksums;
  for (const ArrayArgument &argument : arrays) {
    if (!arguments.emplace(argument.name, argument).second)
      throw UsageError(text("array ", quote(argument.name), " is given twice"));
    headers[argument.name] = {argument.dtype, /*fortranOrder=*/false, argument.shape};
    if (argument.strides.empty())
      offsets[argument.name] = 0;
    Array array = readArgument(argument);
    checksums[argument.name] =
        static_cast<uint32_t>(crc32_z(0, array.as<Bytef>(), array.data.size()));
  }
  fingerprint = fingerprintOf(headers, checksums);
}

std::string ArrayFile::prefix() const { return path.empty() ? "" : quote(path) + ": "; }

Array ArrayFile::read(const std::string &name) const {
  if (auto found = arguments.find(name); found != arguments.end())
    return readArgument(found->second);
  struct stat info;
  requireSame(*this, stat(path.c_str(), &info), info);
  return NpzReader(path).read(name);
}

std::vector<ArrayFile> bppsa::runtime::findArrayFiles(const std::string &path) {
  std::error_code error;
  std::vector<ArrayFile> files;
  if (!fs::is_directory(path, error)) {
    files.emplace_back(path);
    return files;
  }
  std::vector<std::string> paths;
  for (fs::directory_iterator it(path, error), end; !error && it != end; it.increment(error))
    if (it->path().extension() == ".npz")
      paths.push_back(it->path().string());
  if (error)
    fail(quote(path), ": cannot be read (", error.message(), ")");
  if (paths.empty())
    fail(quote(path), ": is a directory without .npz files; a directory of shards needs at least "
                      "one file written by numpy.savez");
  std::sort(paths.begin(), paths.end());
  for (const std::string &file : paths)
    files.emplace_back(file);
  return files;
}

ArrayPart::ArrayPart(const ArrayFile &file, const std::string &name)
    : file(file), offset(file.offsets.at(name)) {
  if (auto found = file.arguments.find(name); found != file.arguments.end()) {
    memory = static_cast<const std::byte *>(found->second.data);
    return;
  }
  descriptor = open(file.path.c_str(), O_RDONLY | O_CLOEXEC);
  struct stat info;
  try {
    requireSame(file, descriptor < 0 ? -1 : fstat(descriptor, &info), info);
  } catch (...) {
    if (descriptor >= 0)
      close(descriptor);
    throw;
  }
}

ArrayPart::~ArrayPart() {
  if (descriptor >= 0)
    close(descriptor);
}

void ArrayPart::read(uint64_t start, uint64_t size, std::byte *to) {
  if (memory) {
    memcpy(to, memory + start, size);
    return;
  }
  for (uint64_t done = 0; done < size;) {
    ssize_t got = pread(descriptor, to + done, size - done, offset + start + done);
    if (got < 0 && errno == EINTR)
      continue;
    if (got <= 0)
      fail(quote(file.path), got < 0 ? text(": cannot be read (", strerror(errno), ")")
                                     : std::string(": is cut short"));
    done += got;
  }
}

static std::optional<uint64_t> numberIn(const char *path, const std::string &key) {
  std::ifstream stream(path);
  for (std::string word; stream >> word;) {
    uint64_t value = 0;
    if (word == key && stream >> value)
      return value * 1024;
  }
  return std::nullopt;
}

uint64_t bppsa::runtime::availableMemory() {
  uint64_t available =
      numberIn("/proc/meminfo", "MemAvailable:").value_or(std::numeric_limits<uint64_t>::max());
  // The container's limit, if any.
  uint64_t limit = 0;
  if (std::ifstream stream("/sys/fs/cgroup/memory.max"); stream >> limit)
    available = std::min(available, limit);
  struct rlimit bound;
  if (getrlimit(RLIMIT_AS, &bound) == 0 && bound.rlim_cur != RLIM_INFINITY) {
    uint64_t used = numberIn("/proc/self/status", "VmSize:").value_or(0);
    available = std::min<uint64_t>(available, bound.rlim_cur > used ? bound.rlim_cur - used : 0);
  }
  return available;
}
