//===- ChunkRule.cpp - chunk lengths --------------------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/CostModel/Machines/ChunkRule.h"

#include <algorithm>
#include <cmath>

using namespace bppsa::cost;

namespace {
struct KnownNumbers {
  using Size = int64_t;

  double toReal(int64_t size) { return static_cast<double>(size); }
  double sqrt(double real) { return std::sqrt(real); }
  double scale(double real, double factor) { return real * factor; }
  double multiply(double lhs, double rhs) { return lhs * rhs; }
  int64_t roundDown(double real) { return static_cast<int64_t>(real); }
  int64_t larger(int64_t lhs, int64_t rhs) { return std::max(lhs, rhs); }
  int64_t clamp(int64_t size, int64_t least, int64_t most) { return std::clamp(size, least, most); }
};
} // namespace

int64_t ChunkRule::apply(int64_t steps, int64_t samples) const {
  return applyIn(KnownNumbers(), steps, samples);
}
