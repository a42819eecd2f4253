//===- Residuals.h - what a backward pass reads -----------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_RUNTIME_EMBEDDING_RESIDUALS_H
#define BPPSA_RUNTIME_EMBEDDING_RESIDUALS_H

#include "bppsa/Runtime/Files/Npz.h"

namespace bppsa::runtime {

/// What a forward pass leaves for a backward pass: the values of its inputs and of all parameters.
/// The backward pass computes the steps between again.
struct Residuals {
  /// The checksum of the program's model.
  uint32_t program = 0;
  /// By name.
  std::map<std::string, Array> inputs;
  /// Of each parameter.
  std::vector<std::vector<float>> parameters;
  std::map<std::string, std::vector<int64_t>> outputShapes;
};

} // namespace bppsa::runtime

#endif // BPPSA_RUNTIME_EMBEDDING_RESIDUALS_H
