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

/// A directory of objects of compiled programs. Several processes may share it: compilation of a
/// program holds a lock, and files are written atomically. Least recently used files are removed.
class ObjectCache {
public:
  /// Opens the directory BPPSA_CACHE, of at most BPPSA_CACHE_SIZE bytes (default 1 GiB). Without
  /// the variable, the cache is disabled.
  static ObjectCache fromEnvironment();
  /// An empty `directory` disables the cache.
  ObjectCache(std::string directory, uint64_t limit)
      : directory(std::move(directory)), limit(limit) {}

  bool isEnabled() const { return !directory.empty(); }

  /// Returns the cached result of `compile`, or calls it. `handler` receives its diagnostics.
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
