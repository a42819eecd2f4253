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

/// Returns the name of the function with the plan of `bppsa-plan-arena`.
inline std::string getArenaPlanName(llvm::StringRef function) {
  return (function + "_arena").str();
}

/// Return the names of the parts that `bppsa-separate-backward` creates, and of the function for
/// the bytes passed between them.
inline std::string getForwardName(llvm::StringRef function) {
  return (function + "_forward").str();
}
inline std::string getBackwardName(llvm::StringRef function) {
  return (function + "_backward").str();
}
/// Backward part without input gradients.
inline std::string getParameterBackwardName(llvm::StringRef function) {
  return (function + "_backward_parameters").str();
}
inline std::string getResidualBytesName(llvm::StringRef function) {
  return (function + "_residuals").str();
}

} // namespace bppsa

#endif // BPPSA_DIALECT_BPPSA_TRANSFORMS_BUFFERS_PASSES_H
