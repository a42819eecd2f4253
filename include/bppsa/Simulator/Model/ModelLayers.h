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

/// A run of nodes of a model, starting at a node with parameters, and its work for one batch. A
/// multiply-add counts as two FLOPs.
struct ModelLayer {
  /// The name of the node with the parameters.
  std::string name;
  /// FLOPs of the forward pass, of cotangents, and of parameter gradients.
  double forward = 0, backward = 0, weight = 0;
  /// Element counts of its parameter tensors.
  std::vector<int64_t> tensors;
  /// Bytes of its values that the backward pass reads, and that later layers read.
  int64_t activationBytes = 0, outputBytes = 0;
};

/// Sizes of dynamic dimensions. A required size must belong to a dynamic dimension.
struct ModelSizes {
  int64_t batch, steps;
  bool requiresBatch = false, requiresSteps = false;
  /// `NAME=VALUE`: other symbolic dimensions, and graph inputs that are constants.
  std::vector<std::string> bindings = {};
};

struct ModelWork {
  /// In forward order.
  std::vector<ModelLayer> layers;
  /// Samples per batch: the requested number, or the number fixed by the model.
  int64_t batch;
};

/// Returns the work of a training step of the ONNX model at `path`. On failure, returns nullopt and
/// sets `error` to a one-line message.
std::optional<ModelWork> getModelWork(const std::string &path, const ModelSizes &sizes,
                                      std::string &error);

} // namespace bppsa

#endif // BPPSA_SIMULATOR_MODEL_MODELLAYERS_H
