//===- RateRules.h - Learning rates of single parameters -------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_RUNTIME_TRAINING_RATERULES_H
#define BPPSA_RUNTIME_TRAINING_RATERULES_H

#include "bppsa/Runtime/Model.h"

namespace bppsa::runtime {

/// REGEX=X of --lr-for: trained parameters with a match in their name have the base rate X.
struct RateRule {
  std::string pattern;
  double rate = 0;

  /// Throws UsageError where `text` is no such word, and Error where the rate is out of range.
  static RateRule parse(const std::string &text);
};

/// For each parameter 0, or 1 more than the number of the last rule that matches its name. Throws
/// Error where a pattern is no POSIX extended regular expression or matches no trained parameter.
std::vector<size_t> groupsOf(const Model &model, const std::vector<RateRule> &rules);

} // namespace bppsa::runtime

#endif // BPPSA_RUNTIME_TRAINING_RATERULES_H
