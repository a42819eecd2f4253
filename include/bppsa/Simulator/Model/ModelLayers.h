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

/// Nodes of a model from one with parameters to the next, and what they take of one batch. FLOPs
/// count a multiply-add as two.
struct ModelLayer {
  /// That of the node with the parameters.
  std::string name;
  /// FLOPs of the forward pass, of cotangents, and of gradients of parameters.
  double forward = 0, backward = 0, weight = 0;
  /// Elements of its parameters, tensor by tensor.
  std::vector<int64_t> tensors;
  /// What the backward pass reads of its values, and what later layers do.
  int64_t activationBytes = 0, outputBytes = 0;
};

/// Sizes where the model leaves them open; those that are required must be open.
struct ModelSizes {
  int64_t batch, steps;
  bool requiresBatch = false, requiresSteps = false;
  /// `NAME=VALUE`: other symbolic dimensions, and graph inputs that are constants.
  std::vector<std::string> bindings = {};
};

struct ModelWork {
  /// In the order of the forward pass.
  std::vector<ModelLayer> layers;
  /// Samples of a batch: those that were asked for, or those that the model fixes.
  int64_t batch;
};

/// What a training step of the ONNX model at `path` computes. Nothing where there is an `error`,
/// one line.
std::optional<ModelWork> getModelWork(const std::string &path, const ModelSizes &sizes,
                                      std::string &error);

} // namespace bppsa

#endif // BPPSA_SIMULATOR_MODEL_MODELLAYERS_H
