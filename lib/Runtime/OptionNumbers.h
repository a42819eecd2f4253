//===- OptionNumbers.h - Numbers of the command line ----------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_RUNTIME_OPTIONNUMBERS_H
#define BPPSA_LIB_RUNTIME_OPTIONNUMBERS_H

#include <CLI/CLI.hpp>

#include <cstdint>
#include <limits>
#include <string>

namespace bppsa::runtime {

/// The whole numbers that an option takes, both ends included.
struct Range {
  int64_t least, most;
};

/// Products of two counts fit into 64 bits.
inline constexpr Range kCounts = {1, std::numeric_limits<int32_t>::max()};
inline constexpr Range kSeeds = {0, std::numeric_limits<int64_t>::max()};
inline constexpr Range kThreadCounts = {1, 4096};

/// Throws where `word`, the value of `flag`, is no whole number in `range`.
int64_t parseWhole(const char *flag, const std::string &word, Range range);

/// A number of bytes, as it is or in units of 1024, 1024^2 or 1024^3 with K, M or G behind it.
int64_t parseBytes(const char *flag, const std::string &word);

/// Value is int64_t or an optional of it. The option library itself would let numbers saturate and
/// read octal ones.
template <typename Value>
CLI::Option *addNumber(CLI::App &command, const char *flag, Value &value, Range range,
                       const std::string &help) {
  CLI::callback_t parse = [flag, &value, range](const CLI::results_t &words) {
    value = parseWhole(flag, words.front(), range);
    return true;
  };
  return command.add_option(flag, parse, help)->type_name("INT");
}

} // namespace bppsa::runtime

#endif // BPPSA_LIB_RUNTIME_OPTIONNUMBERS_H
