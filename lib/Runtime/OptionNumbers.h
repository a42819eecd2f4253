//===- OptionNumbers.h - Numeric command-line options -----------*- C++ -*-===//
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

struct Range {
  int64_t least, most;
};

/// Products of two counts fit into 64 bits.
inline constexpr Range kCounts = {1, std::numeric_limits<int32_t>::max()};
inline constexpr Range kSeeds = {0, std::numeric_limits<int64_t>::max()};
inline constexpr Range kThreadCounts = {1, 4096};

int64_t parseWhole(const char *flag, const std::string &word, Range range);

/// Accepts suffixes K, M and G (powers of 1024).
int64_t parseBytes(const char *flag, const std::string &word);

/// CLI11 would saturate large values and accept octal.
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
