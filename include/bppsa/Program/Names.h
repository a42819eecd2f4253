//===- Names.h - tables with names ------------------------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// The headers in bppsa/Program declare the words that compiled programs and the compiler share.
// They are for both: nothing here knows of MLIR.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_PROGRAM_NAMES_H
#define BPPSA_PROGRAM_NAMES_H

#include <iterator>
#include <string>
#include <string_view>

namespace bppsa::program {

/// The entry of `table` with that name; null if there is none.
template <typename Entry, size_t size>
constexpr const Entry *findNamed(const Entry (&table)[size], std::string_view name) {
  for (const Entry &entry : table)
    if (entry.name == name)
      return &entry;
  return nullptr;
}

/// "a, b and c" for the names of `table` and the conjunction `and`.
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
