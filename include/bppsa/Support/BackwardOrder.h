//===- BackwardOrder.h - when gradients of parameters are formed -*- C++ -*-===//
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

/// An order of the gradients of parameters in a backward pass. Stages count from 1, the one that
/// cotangents reach last.
struct BackwardOrder {
  /// Stages whose gradients come after all cotangents, stage 1 first; nothing where the compiler
  /// finds that number.
  std::optional<int64_t> reversed = 0;
  /// By stage: the earlier one after whose gradients its own come, or `kNextStep`.
  std::map<int64_t, int64_t> deferred;
  /// The next step of training, before its parameters are read.
  static constexpr int64_t kNextStep = 0;

  /// What `in-order`, `reverse-first:K`, `reverse-first:auto` or `defer:L:J[,L:J...]`, where J may
  /// be `next`, means; nothing where `text` is none of these.
  static std::optional<BackwardOrder> parse(llvm::StringRef text);
  /// The spelling that `parse` reads.
  std::string toString() const;
  /// Whether the gradients of `stage`, or of any, are formed in the next step.
  bool isCarried(int64_t stage) const;
  bool carriesAny() const;
  /// The last stage that it names; 0 where it names none.
  int64_t getLastStage() const;
};

} // namespace bppsa

#endif // BPPSA_SUPPORT_BACKWARDORDER_H
