//===- ObjectCache.h - cache of compiled objects ----------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_COMPILER_OBJECTCACHE_H
#define BPPSA_COMPILER_OBJECTCACHE_H

#include "bppsa/Compiler/Compiler.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"

namespace bppsa {

/// A directory of objects of previously compiled programs, with their diagnostics. Several
/// processes and threads may share it: compilation of a program holds a lock, and files are written
/// atomically. If the total size exceeds a limit, the least recently used files are removed.
class ObjectCache {
public:
  /// Opens the directory in the environment variable BPPSA_CACHE, and creates it if necessary. Its
  /// maximum size is BPPSA_CACHE_SIZE bytes (default 1 GiB). Without the variable, the cache is
  /// disabled.
  static ObjectCache fromEnvironment();
  /// An empty `directory` disables the cache.
  ObjectCache(std::string directory, uint64_t limit)
      : directory(std::move(directory)), limit(limit) {}

  bool isEnabled() const { return !directory.empty(); }

  /// Returns the cached result of `compile`, or calls it. `handler` receives the diagnostics of the
  /// program, and a warning if the directory is unusable.
  std::optional<std::vector<std::string>>
  get(llvm::StringRef key, const DiagnosticHandler &handler,
      llvm::function_ref<std::optional<std::vector<std::string>>(const DiagnosticHandler &)>
          compile) const;

private:
  void trim() const;

  std::string directory;
  uint64_t limit;
};

/// Returns a hash of `model`, the text `options`, this compiler and this processor. Returns nothing
/// if the model has external tensor data.
std::optional<std::string> getObjectKey(const ModelSource &model, llvm::StringRef options);

} // namespace bppsa

#endif // BPPSA_COMPILER_OBJECTCACHE_H
