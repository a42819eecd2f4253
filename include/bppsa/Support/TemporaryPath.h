//===- TemporaryPath.h - paths removed at the end of a scope ----*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_SUPPORT_TEMPORARYPATH_H
#define BPPSA_SUPPORT_TEMPORARYPATH_H

#include "llvm/ADT/StringRef.h"
#include <string>

namespace bppsa {

/// Removes a file or directory at the end of the scope.
class TemporaryPath {
public:
  explicit TemporaryPath(llvm::StringRef path);
  ~TemporaryPath();
  TemporaryPath(const TemporaryPath &) = delete;
  TemporaryPath &operator=(const TemporaryPath &) = delete;

  void release();

private:
  friend void removeTemporaryPaths();

  void remove() const;

  std::string path;
};

/// Removes the paths of all threads, before exiting without unwinding.
void removeTemporaryPaths();

} // namespace bppsa

#endif // BPPSA_SUPPORT_TEMPORARYPATH_H
