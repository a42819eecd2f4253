//===- LoadedProgram.h - load programs into this process --------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_TARGET_LOADEDPROGRAM_H
#define BPPSA_TARGET_LOADEDPROGRAM_H

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace bppsa {

/// The objects of a program, linked in the memory of this process while this object lives.
class LoadedProgram {
public:
  using Symbol = std::pair<const char *, const void *>;

  /// Links `objects` with each other, with `symbols` and with the C library. Returns null and sets
  /// `error` on failure.
  static std::unique_ptr<LoadedProgram> create(const std::vector<std::string> &objects,
                                               const std::vector<Symbol> &symbols,
                                               std::string &error);
  ~LoadedProgram();

  void *lookup(const char *symbol);

private:
  struct Session;
  explicit LoadedProgram(std::unique_ptr<Session> session);

  std::unique_ptr<Session> session;
};

} // namespace bppsa

#endif // BPPSA_TARGET_LOADEDPROGRAM_H
