//===- PublishedModels.h - layers of published networks ---------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// VGG-19 and ResNet-50 on 224 x 224 images: the weights of every layer, and compute times in
// proportion to multiply-adds, one third of them forward.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_UNITTESTS_SIMULATOR_PUBLISHEDMODELS_H
#define BPPSA_UNITTESTS_SIMULATOR_PUBLISHEDMODELS_H

#include "bppsa/Simulator/DataParallel.h"

namespace bppsa::schedule {

/// Collects layers by their sizes.
class ModelBuilder {
public:
  /// Adds a convolution with `size` x `size` outputs.
  void addConvolution(int64_t in, int64_t out, int64_t kernel, int64_t size) {
    add(in * out * kernel * kernel, size * size);
  }
  void addDense(int64_t in, int64_t out) { add(in * out, 1); }

  /// Builds a step with `seconds` of compute time.
  TrainingStep build(double seconds) const {
    double all = 0;
    for (double share : multiplyAdds)
      all += share;
    TrainingStep step;
    for (size_t i = 0; i < weights.size(); ++i) {
      double third = seconds / 3 * multiplyAdds[i] / all;
      step.push_back({third, third, third, {weights[i]}});
    }
    return step;
  }

private:
  void add(int64_t numWeights, int64_t uses) {
    weights.push_back(numWeights);
    multiplyAdds.push_back(1.0 * numWeights * uses);
  }

  std::vector<int64_t> weights;
  std::vector<double> multiplyAdds;
};

inline TrainingStep makeVGG19(double seconds) {
  ModelBuilder model;
  int64_t in = 3, size = 224;
  for (auto [channels, repeat] : {std::pair(64, 2), {128, 2}, {256, 4}, {512, 4}, {512, 4}}) {
    for (int i = 0; i < repeat; ++i, in = channels)
      model.addConvolution(in, channels, 3, size);
    size /= 2;
  }
  model.addDense(512 * 7 * 7, 4096);
  model.addDense(4096, 4096);
  model.addDense(4096, 1000);
  return model.build(seconds);
}

inline TrainingStep makeResNet50(double seconds) {
  ModelBuilder model;
  model.addConvolution(3, 64, 7, 112);
  int64_t in = 64, size = 56;
  for (auto [width, repeat] : {std::pair(64, 3), {128, 4}, {256, 6}, {512, 3}}) {
    for (int i = 0; i < repeat; ++i, in = 4 * width) {
      int64_t inSize = i == 0 && width > 64 ? 2 * size : size;
      model.addConvolution(in, width, 1, inSize);
      model.addConvolution(width, width, 3, size);
      model.addConvolution(width, 4 * width, 1, size);
      if (i == 0)
        model.addConvolution(in, 4 * width, 1, size);
    }
    size /= 2;
  }
  model.addDense(2048, 1000);
  return model.build(seconds);
}

} // namespace bppsa::schedule

#endif // BPPSA_UNITTESTS_SIMULATOR_PUBLISHEDMODELS_H
