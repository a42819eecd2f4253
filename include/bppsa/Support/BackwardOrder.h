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
  /// By stage: the earlier one after whose gradients its own come.
  std::map<int64_t, int64_t> deferred;

  /// What `in-order`, `reverse-first:K`, `reverse-first:auto` or `defer:L:J[,L:J...]` means;
  /// nothing where `text` is none of these.
  static std::optional<BackwardOrder> parse(llvm::StringRef text);
  /// The spelling that `parse` reads.
  std::string toString() const;
  /// The last stage that it names; 0 where it names none.
  int64_t getLastStage() const;
};

} // namespace bppsa

#endif // BPPSA_SUPPORT_BACKWARDORDER_H
