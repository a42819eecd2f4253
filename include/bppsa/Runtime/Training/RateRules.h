//===- RateRules.h - Learning rates of individual parameters --------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_RUNTIME_TRAINING_RATERULES_H
#define BPPSA_RUNTIME_TRAINING_RATERULES_H

#include "bppsa/Runtime/Model.h"

namespace bppsa::runtime {

/// REGEX=X of --lr-for: trained parameters whose names match use the base rate X.
struct RateRule {
  std::string pattern;
  double rate = 0;

  /// Throws UsageError if `text` is malformed, and Error if the rate is out of range.
  static RateRule parse(const std::string &text);
};

/// Returns the learning-rate group of each parameter: 0, or 1 plus the index of the last rule that
/// matches its name. Throws Error if a pattern is not a POSIX extended regular expression or
/// matches no trained parameter.
std::vector<size_t> groupsOf(const Model &model, const std::vector<RateRule> &rules);

} // namespace bppsa::runtime

#endif // BPPSA_RUNTIME_TRAINING_RATERULES_H
