//===- ModelLayers.h - the work of the layers of a model --------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_SIMULATOR_MODEL_MODELLAYERS_H
#define BPPSA_SIMULATOR_MODEL_MODELLAYERS_H

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace bppsa {

/// A node with parameters, the nodes up to the next one, and their work for one batch. A
/// multiply-add counts as two FLOPs.
struct ModelLayer {
  std::string name;
  /// FLOPs of the forward pass, cotangents, and parameter gradients.
  double forward = 0, backward = 0, weight = 0;
  /// The element counts of its parameters.
  std::vector<int64_t> tensors;
  /// The bytes that the backward pass reads, and that later layers read.
  int64_t activationBytes = 0, outputBytes = 0;
};

/// A required size must belong to a dynamic dimension.
struct ModelSizes {
  int64_t batch, steps;
  bool requiresBatch = false, requiresSteps = false;
  /// `NAME=VALUE` for other symbolic dimensions and constant graph inputs.
  std::vector<std::string> bindings = {};
};

struct ModelWork {
  std::vector<ModelLayer> layers;
  int64_t batch;
};

/// On failure, returns nullopt and sets `error`.
std::optional<ModelWork> getModelWork(const std::string &path, const ModelSizes &sizes,
                                      std::string &error);

} // namespace bppsa

#endif // BPPSA_SIMULATOR_MODEL_MODELLAYERS_H
