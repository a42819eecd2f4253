//===- Passes.h - Conversion passes ---------------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_CONVERSION_PASSES_H
#define BPPSA_CONVERSION_PASSES_H

#include "mlir/Pass/Pass.h"

namespace bppsa {

/// What tensor cores multiply: float32 in three products of numbers of 11 bits, one product of
/// these, or one of numbers of 8 bits. Sums are float32.
enum class TensorPrecision { FP32, TF32, BF16 };

#define GEN_PASS_DECL
#include "bppsa/Conversion/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "bppsa/Conversion/Passes.h.inc"

} // namespace bppsa

#endif // BPPSA_CONVERSION_PASSES_H
