//===- Optimizers.h - the optimizers of --optimizer -------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_PROGRAM_OPTIMIZERS_H
#define BPPSA_PROGRAM_OPTIMIZERS_H

#include "bppsa/Program/Names.h"

namespace bppsa::program {

/// Slots of the array `hyper`, which updates read.
enum HyperSlot {
  kRateSlot,
  kWeightDecaySlot,
  /// The number of the step, from 1.
  kStepSlot,
  /// The factor by which gradients are scaled for clipping.
  kScaleSlot,
  kBeta1Slot,
  kBeta2Slot,
  kEpsilonSlot,
  kNumHyperSlots = 8
};

/// A hyperparameter of an optimizer.
struct HyperParameter {
  /// The name in program descriptions, in checkpoints and in the C API.
  const char *key;
  HyperSlot slot;
  double value;
  /// The command-line option of programs; null if the optimizer ignores the hyperparameter.
  const char *flag = nullptr;
  const char *help = nullptr;
  /// True if values must be below 1.
  bool isShare = false;
};

enum class OptimizerKind { SGD, Momentum, Adam, AdamW, RMSprop };

struct Optimizer {
  OptimizerKind kind;
  /// The name on the command line, in pass options and in program descriptions.
  std::string_view name;
  /// The number of state arrays, each of the size of the parameters.
  unsigned numStates;
  /// In the order of the options.
  HyperParameter hyper[5];
};

inline constexpr HyperParameter kRate = {"lr", kRateSlot, 1e-3, "--lr", "Learning rate"};
inline constexpr HyperParameter kEpsilon = {"eps", kEpsilonSlot, 1e-8, "--eps",
                                            "Added to the optimizer's denominator"};
inline constexpr HyperParameter kDecayRate1 = {
    "beta1", kBeta1Slot, 0.9, "--beta1", "Decay rate of the first moment", /*isShare=*/true};
inline constexpr HyperParameter kDecayRate2 = {
    "beta2", kBeta2Slot, 0.999, "--beta2", "Decay rate of the second moment", /*isShare=*/true};
inline constexpr HyperParameter kUnusedBeta1 = {"beta1", kBeta1Slot, 0.9};
inline constexpr HyperParameter kUnusedBeta2 = {"beta2", kBeta2Slot, 0.999};
inline constexpr HyperParameter kUnusedEpsilon = {"eps", kEpsilonSlot, 1e-8};

constexpr HyperParameter makeWeightDecay(double value) {
  return {"weight_decay", kWeightDecaySlot, value, "--weight-decay", "Weight decay"};
}

inline constexpr Optimizer kOptimizers[] = {
    {OptimizerKind::SGD,
     "sgd",
     0,
     {kRate, makeWeightDecay(0), kUnusedBeta1, kUnusedBeta2, kUnusedEpsilon}},
    {OptimizerKind::Momentum,
     "momentum",
     1,
     {kRate,
      makeWeightDecay(0),
      {"beta1", kBeta1Slot, 0.9, "--momentum", "Share of the last change that is kept", true},
      kUnusedBeta2,
      kUnusedEpsilon}},
    {OptimizerKind::Adam,
     "adam",
     2,
     {kRate, makeWeightDecay(0), kDecayRate1, kDecayRate2, kEpsilon}},
    {OptimizerKind::AdamW,
     "adamw",
     2,
     {kRate, makeWeightDecay(1e-2), kDecayRate1, kDecayRate2, kEpsilon}},
    {OptimizerKind::RMSprop,
     "rmsprop",
     1,
     {kRate,
      makeWeightDecay(0),
      {"beta1", kBeta1Slot, 0.99, "--alpha", "Decay rate of the mean square", true},
      kUnusedBeta2,
      kEpsilon}},
};

} // namespace bppsa::program

#endif // BPPSA_PROGRAM_OPTIMIZERS_H
