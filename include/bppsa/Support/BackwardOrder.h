//===- BackwardOrder.h - when parameter gradients are computed --*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_SUPPORT_BACKWARDORDER_H
#define BPPSA_SUPPORT_BACKWARDORDER_H

#include "llvm/ADT/StringRef.h"
#include <cstdint>
#include <map>
#include <optional>
#include <string>

namespace bppsa {

/// Stages are numbered from 1 in forward order: cotangents reach stage 1 last.
struct BackwardOrder {
  /// Stages, from stage 1, whose parameter gradients follow all cotangents; nullopt if the compiler
  /// chooses.
  std::optional<int64_t> reversed = 0;
  /// For a stage, the earlier stage after which its parameter gradients are computed, or
  /// `kNextStep`.
  std::map<int64_t, int64_t> deferred;
  /// The next step, before it reads its parameters.
  static constexpr int64_t kNextStep = 0;

  /// Parses `in-order`, `reverse-first:K`, `reverse-first:auto` or `defer:L:J[,L:J...]`; J may be
  /// `next`.
  static std::optional<BackwardOrder> parse(llvm::StringRef text);
  std::string toString() const;
  /// Returns true if parameter gradients of `stage`, or of any, are computed in the next step.
  bool isCarried(int64_t stage) const;
  bool carriesAny() const;
  /// Returns the highest stage named; 0 if none.
  int64_t getLastStage() const;
};

} // namespace bppsa

#endif // BPPSA_SUPPORT_BACKWARDORDER_H
