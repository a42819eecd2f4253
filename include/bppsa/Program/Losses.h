//===- Losses.h - the losses of --loss --------------------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_PROGRAM_LOSSES_H
#define BPPSA_PROGRAM_LOSSES_H

#include "bppsa/Program/Names.h"

namespace bppsa::program {

enum class LossKind { CrossEntropy, NLL, MSE, L1, Huber, BCEWithLogits, VJP, None };

struct Loss {
  LossKind kind;
  /// The name on the command line, in pass options and in program descriptions.
  std::string_view name;
  /// The target holds class indices; the last axis of the output is over classes.
  bool hasClasses;
  /// The output holds logits.
  bool hasLogits;
};

/// The first one is the default.
inline constexpr Loss kLosses[] = {
    {LossKind::CrossEntropy, "cross-entropy", /*hasClasses=*/true, /*hasLogits=*/true},
    {LossKind::NLL, "nll", /*hasClasses=*/true, /*hasLogits=*/false},
    {LossKind::MSE, "mse", /*hasClasses=*/false, /*hasLogits=*/false},
    {LossKind::L1, "l1", /*hasClasses=*/false, /*hasLogits=*/false},
    {LossKind::Huber, "huber", /*hasClasses=*/false, /*hasLogits=*/false},
    {LossKind::BCEWithLogits, "bce-with-logits", /*hasClasses=*/false, /*hasLogits=*/true},
    // The sum of outputs times targets.
    {LossKind::VJP, "vjp", /*hasClasses=*/false, /*hasLogits=*/false},
    // The scalar output of the model, without a target.
    {LossKind::None, "none", /*hasClasses=*/false, /*hasLogits=*/false},
};

constexpr bool hasClasses(LossKind kind) {
  for (const Loss &loss : kLosses)
    if (loss.kind == kind)
      return loss.hasClasses;
  return false;
}

/// Returns whether `name` is the name of `kind`.
constexpr bool isLoss(std::string_view name, LossKind kind) {
  const Loss *loss = findNamed(kLosses, name);
  return loss && loss->kind == kind;
}

/// Returns whether the loss with this name has class indices as targets.
constexpr bool hasClasses(std::string_view name) {
  const Loss *loss = findNamed(kLosses, name);
  return loss && loss->hasClasses;
}

/// Returns whether the loss with this name reads logits.
constexpr bool hasLogits(std::string_view name) {
  const Loss *loss = findNamed(kLosses, name);
  return loss && loss->hasLogits;
}

} // namespace bppsa::program

#endif // BPPSA_PROGRAM_LOSSES_H
