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

/// An order of the parameter gradients in a backward pass. Stages are numbered from 1 in forward
/// order: cotangents reach stage 1 last.
struct BackwardOrder {
  /// The number of stages whose parameter gradients are computed after all cotangents, starting
  /// with stage 1; nullopt if the compiler chooses it.
  std::optional<int64_t> reversed = 0;
  /// Maps a stage to the earlier stage after which its parameter gradients are computed, or to
  /// `kNextStep`.
  std::map<int64_t, int64_t> deferred;
  /// The next training step, before its parameters are read.
  static constexpr int64_t kNextStep = 0;

  /// Parses `in-order`, `reverse-first:K`, `reverse-first:auto` or `defer:L:J[,L:J...]`; J may be
  /// `next`. Returns nullopt for other texts.
  static std::optional<BackwardOrder> parse(llvm::StringRef text);
  /// Returns the text accepted by `parse`.
  std::string toString() const;
  /// Returns whether the parameter gradients of `stage`, or of any stage, are computed in the next
  /// step.
  bool isCarried(int64_t stage) const;
  bool carriesAny() const;
  /// Returns the highest stage named by the order; 0 if none is named.
  int64_t getLastStage() const;
};

} // namespace bppsa

#endif // BPPSA_SUPPORT_BACKWARDORDER_H
