//===- OutputFile.cpp - writes files atomically ---------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Support/OutputFile.h"
#include "bppsa/Support/TemporaryPath.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

using namespace bppsa;
namespace fs = llvm::sys::fs;

static llvm::Error fail(llvm::StringRef path, std::error_code reason) {
  return llvm::createStringError(reason, "cannot write " + path + ": " + reason.message());
}

/// The destructor aborts the process on uncleared errors.
static std::error_code close(llvm::raw_fd_ostream &stream) {
  stream.close();
  std::error_code reason = stream.error();
  stream.clear_error();
  return reason;
}

static llvm::Error writeInPlace(llvm::StringRef path,
                                llvm::function_ref<void(llvm::raw_ostream &)> print) {
  std::error_code reason;
  llvm::raw_fd_ostream stream(path, reason);
  if (reason)
    return fail(path, reason);
  print(stream);
  reason = close(stream);
  return reason ? fail(path, reason) : llvm::Error::success();
}

/// The name is unique among processes and threads.
static std::error_code createSiblingFile(llvm::StringRef target, FileMode mode, int &descriptor,
                                         llvm::SmallVectorImpl<char> &name) {
  unsigned permissions = mode == FileMode::Program ? fs::all_all : fs::all_read | fs::all_write;
  std::error_code reason = std::make_error_code(std::errc::file_exists);
  for (unsigned i = 0; i < 1000 && reason == std::errc::file_exists; ++i) {
    name.clear();
    (target + ".tmp" + llvm::Twine(i)).toVector(name);
    reason = fs::openFileForWrite(llvm::StringRef(name.data(), name.size()), descriptor,
                                  fs::CD_CreateNew, fs::OF_None, permissions);
  }
  return reason;
}

llvm::Error bppsa::writeFile(llvm::StringRef path,
                             llvm::function_ref<void(llvm::raw_ostream &)> print, FileMode mode) {
  fs::file_status status;
  llvm::SmallString<128> target(path), temporary;
  if (!fs::status(path, status)) {
    if (fs::is_directory(status))
      return fail(path, std::make_error_code(std::errc::is_a_directory));
    if (!fs::is_regular_file(status))
      return writeInPlace(path, print);
    // Renaming only requires permission for the directory.
    if (std::error_code reason = fs::access(path, fs::AccessMode::Write))
      return fail(path, reason);
    // Keep symbolic links.
    if (std::error_code reason = fs::real_path(path, target))
      return fail(path, reason);
  }
  int descriptor;
  if (std::error_code reason = createSiblingFile(target, mode, descriptor, temporary))
    return fail(path, reason);
  TemporaryPath unfinished(temporary);
  llvm::raw_fd_ostream stream(descriptor, /*shouldClose=*/true);
  print(stream);
  if (std::error_code reason = close(stream))
    return fail(path, reason);
  if (std::error_code reason = fs::rename(temporary, target))
    return fail(path, reason);
  unfinished.release();
  return llvm::Error::success();
}

llvm::Error bppsa::checkWritable(llvm::StringRef path) {
  fs::file_status status;
  if (fs::is_directory(path))
    return fail(path, std::make_error_code(std::errc::is_a_directory));
  if (!fs::status(path, status)) {
    if (!fs::is_regular_file(status))
      return llvm::Error::success();
    if (std::error_code reason = fs::access(path, fs::AccessMode::Write))
      return fail(path, reason);
  }
  llvm::StringRef directory = llvm::sys::path::parent_path(path);
  if (directory.empty())
    directory = ".";
  if (std::error_code reason = fs::access(directory, fs::AccessMode::Write))
    return fail(path, reason);
  return llvm::Error::success();
}
