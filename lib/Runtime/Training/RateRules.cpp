//===- RateRules.cpp - Learning rates of individual parameters ------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Runtime/Training/RateRules.h"
#include "bppsa/Runtime/Error.h"

#include <cmath>
#include <cstdlib>
#include <regex.h>

using namespace bppsa::runtime;

namespace {
/// A POSIX extended regular expression, as in the compiler's options.
class Regex {
public:
  explicit Regex(const std::string &pattern) {
    if (int error = regcomp(&regex, pattern.c_str(), REG_EXTENDED | REG_NOSUB)) {
      char message[256];
      regerror(error, &regex, message, sizeof message);
      fail("--lr-for: ", quote(pattern), " is not a regular expression: ", message);
    }
  }
  ~Regex() { regfree(&regex); }
  Regex(const Regex &) = delete;

  bool matches(const std::string &name) const {
    return regexec(&regex, name.c_str(), 0, nullptr, 0) == 0;
  }

private:
  regex_t regex;
};
} // namespace

RateRule RateRule::parse(const std::string &word) {
  size_t equals = word.rfind('=');
  std::string number = equals == std::string::npos ? "" : word.substr(equals + 1);
  char *end = nullptr;
  double rate = strtod(number.c_str(), &end);
  if (equals == 0 || number.empty() || *end)
    throw UsageError(text("--lr-for: found ", quote(word), ", expected REGEX=X with a number X"));
  if (!std::isfinite(rate) || rate < 0)
    fail("--lr-for: found ", rate, " for ", quote(word.substr(0, equals)),
         ", expected a number of at least 0");
  return {word.substr(0, equals), rate};
}

std::vector<size_t> bppsa::runtime::groupsOf(const Model &model,
                                             const std::vector<RateRule> &rules) {
  std::vector<size_t> groups(model.parameters.size());
  for (size_t i = 0; i < rules.size(); ++i) {
    Regex regex(rules[i].pattern);
    bool isUsed = false;
    std::vector<std::string> names;
    for (size_t index = 0; index < groups.size(); ++index) {
      const ParameterInfo &info = model.parameters[index];
      if (!info.trained)
        continue;
      names.push_back(quote(info.name));
      if (regex.matches(info.name)) {
        groups[index] = i + 1;
        isUsed = true;
      }
    }
    if (!isUsed)
      fail("--lr-for: ", quote(rules[i].pattern), " matches no trained initializer; they are ",
           list(names));
  }
  return groups;
}
