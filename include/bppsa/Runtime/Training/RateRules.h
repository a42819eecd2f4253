//===- RateRules.h - Learning rates of individual parameters --------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_RUNTIME_TRAINING_RATERULES_H
#define BPPSA_RUNTIME_TRAINING_RATERULES_H

#include "bppsa/Runtime/Model.h"

namespace bppsa::runtime {

/// REGEX=X of --lr-for sets the base rate of matching parameters.
struct RateRule {
  std::string pattern;
  double rate = 0;

  /// Throws UsageError if malformed, Error if out of range.
  static RateRule parse(const std::string &text);
};

/// Returns the group of each parameter: 0, or 1 plus the index of the last matching rule. Throws
/// Error for invalid patterns and patterns without a match.
std::vector<size_t> groupsOf(const Model &model, const std::vector<RateRule> &rules);

} // namespace bppsa::runtime

#endif // BPPSA_RUNTIME_TRAINING_RATERULES_H
