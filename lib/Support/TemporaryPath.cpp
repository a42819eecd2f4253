//===- TemporaryPath.cpp - files removed at the end of a scope ------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Support/TemporaryPath.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/Support/FileSystem.h"
#include <mutex>

using namespace bppsa;
namespace fs = llvm::sys::fs;

namespace {
struct Registry {
  std::mutex mutex;
  llvm::SmallPtrSet<TemporaryPath *, 8> paths;
};
} // namespace

/// Never destroyed: a thread may end the process while another returns from `main`.
static Registry &getRegistry() {
  static auto *registry = new Registry;
  return *registry;
}

TemporaryPath::TemporaryPath(llvm::StringRef path) : path(path) {
  Registry &registry = getRegistry();
  std::lock_guard lock(registry.mutex);
  registry.paths.insert(this);
}

void TemporaryPath::remove() const {
  if (path.empty())
    return;
  if (fs::is_directory(path))
    fs::remove_directories(path);
  else
    fs::remove(path);
}

void TemporaryPath::release() { path.clear(); }

TemporaryPath::~TemporaryPath() {
  remove();
  Registry &registry = getRegistry();
  std::lock_guard lock(registry.mutex);
  registry.paths.erase(this);
}

void bppsa::removeTemporaryPaths() {
  Registry &registry = getRegistry();
  // The ending thread may hold the lock.
  std::unique_lock lock(registry.mutex, std::try_to_lock);
  if (!lock)
    return;
  for (TemporaryPath *path : registry.paths)
    path->remove();
}
