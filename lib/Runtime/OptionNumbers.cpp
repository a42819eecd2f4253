//===- OptionNumbers.cpp - Numeric command-line options -------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "OptionNumbers.h"
#include "bppsa/Runtime/Error.h"

#include <charconv>

using namespace bppsa::runtime;

int64_t bppsa::runtime::parseWhole(const char *flag, const std::string &word, Range range) {
  int64_t value = 0;
  const char *end = word.data() + word.size();
  auto [rest, error] = std::from_chars(word.data(), end, value);
  std::string message = text(flag, ": found ", quote(word), ", expected a whole number from ",
                             range.least, " to ", range.most);
  if (rest != end || error == std::errc::invalid_argument)
    throw UsageError(message);
  if (error == std::errc::result_out_of_range || value < range.least || value > range.most)
    fail(message);
  return value;
}

int64_t bppsa::runtime::parseBytes(const char *flag, const std::string &word) {
  static const std::string units = "KMG";
  size_t unit = word.empty() ? std::string::npos : units.find(word.back());
  int shift = unit == std::string::npos ? 0 : 10 * static_cast<int>(unit + 1);
  std::string digits = shift ? word.substr(0, word.size() - 1) : word;
  if (digits.empty() || digits.find_first_not_of("0123456789") != std::string::npos)
    throw UsageError(text(flag, ": found ", quote(word),
                          ", expected a whole number of bytes, optionally followed by K, M or G"));
  return parseWhole(flag, digits, {1, std::numeric_limits<int64_t>::max() >> 20 >> shift}) << shift;
}
