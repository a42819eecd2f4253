//===- Names.h - tables of named entries ------------------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// The headers in bppsa/Program declare names shared by compiled programs and the compiler, and
// therefore do not depend on MLIR.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_PROGRAM_NAMES_H
#define BPPSA_PROGRAM_NAMES_H

#include <iterator>
#include <string>
#include <string_view>

namespace bppsa::program {

/// Returns the entry of `table` named `name`; null if there is none.
template <typename Entry, size_t size>
constexpr const Entry *findNamed(const Entry (&table)[size], std::string_view name) {
  for (const Entry &entry : table)
    if (entry.name == name)
      return &entry;
  return nullptr;
}

/// Formats the names of `table` as "a, b and c" if `conjunction` is "and".
template <typename Entry, size_t size>
std::string listNames(const Entry (&table)[size], const std::string &conjunction) {
  std::string list;
  for (size_t i = 0; i < size; ++i) {
    if (i > 0)
      list += i + 1 < size ? ", " : " " + conjunction + " ";
    list += table[i].name;
  }
  return list;
}

} // namespace bppsa::program

#endif // BPPSA_PROGRAM_NAMES_H
