//===- ObjectCache.h - objects of programs, kept in files -------*- C++ -*-===//
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

/// A directory with the objects of programs that were compiled before, and what was said of them.
/// Several processes and threads may share it: who compiles a program locks its name, and files
/// appear whole. The files that were not used for longest go where all are larger than a limit.
class ObjectCache {
public:
  /// The directory that the environment variable BPPSA_CACHE names, created where it is missing,
  /// with at most BPPSA_CACHE_SIZE bytes (default 1 GiB). Without the variable nothing is kept.
  static ObjectCache fromEnvironment();
  /// An empty directory: nothing is kept.
  ObjectCache(std::string directory, uint64_t limit)
      : directory(std::move(directory)), limit(limit) {}

  bool isEnabled() const { return !directory.empty(); }

  /// What `compile` gives, from a file where there is one. `handler` gets what was said of the
  /// program, and a warning where the directory cannot be used.
  std::optional<std::vector<std::string>>
  get(llvm::StringRef key, const DiagnosticHandler &handler,
      llvm::function_ref<std::optional<std::vector<std::string>>(const DiagnosticHandler &)>
          compile) const;

private:
  void trim() const;

  std::string directory;
  uint64_t limit;
};

/// What identifies the objects of `model` under options that are spelt `options`: a hash of both,
/// of this compiler and of this processor. Nothing where the model has tensors in other files.
std::optional<std::string> getObjectKey(const ModelSource &model, llvm::StringRef options);

} // namespace bppsa

#endif // BPPSA_COMPILER_OBJECTCACHE_H
