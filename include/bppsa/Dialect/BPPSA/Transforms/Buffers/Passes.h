//===- Passes.h - buffer passes ---------------------------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_DIALECT_BPPSA_TRANSFORMS_BUFFERS_PASSES_H
#define BPPSA_DIALECT_BPPSA_TRANSFORMS_BUFFERS_PASSES_H

#include "mlir/Pass/Pass.h"

namespace bppsa {

#define GEN_PASS_DECL
#include "bppsa/Dialect/BPPSA/Transforms/Buffers/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "bppsa/Dialect/BPPSA/Transforms/Buffers/Passes.h.inc"

/// Returns the name of the function in which `bppsa-plan-arena` stores the plan of `function`.
inline std::string getArenaPlanName(llvm::StringRef function) {
  return (function + "_arena").str();
}

/// Names of the functions that `bppsa-separate-backward` creates from `function`: its two parts,
/// and the function that computes the bytes passed from one part to the other.
inline std::string getForwardName(llvm::StringRef function) {
  return (function + "_forward").str();
}
inline std::string getBackwardName(llvm::StringRef function) {
  return (function + "_backward").str();
}
/// The backward part without gradients of inputs.
inline std::string getParameterBackwardName(llvm::StringRef function) {
  return (function + "_backward_parameters").str();
}
inline std::string getResidualBytesName(llvm::StringRef function) {
  return (function + "_residuals").str();
}

} // namespace bppsa

#endif // BPPSA_DIALECT_BPPSA_TRANSFORMS_BUFFERS_PASSES_H
