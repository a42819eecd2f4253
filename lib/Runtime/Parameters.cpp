//===- Parameters.cpp - Parameters, gradients and optimizer states --------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Runtime/Parameters.h"

#include <cstring>

using namespace bppsa::runtime;

static constexpr int64_t padding = 16;

Parameters::Parameters(const Model &model, const unsigned char *onnx, bool withStates)
    : model(model) {
  for (const ParameterInfo &info : model.parameters) {
    int64_t &size = info.trained ? trainedSize : frozenSize;
    starts.push_back(size);
    size += (info.elements + padding - 1) / padding * padding;
  }
  trained = Buffer(trainedSize * sizeof(float));
  frozen = Buffer(frozenSize * sizeof(float));
  gradients = Buffer(trainedSize * sizeof(float));
  for (int64_t i = 0; i < (withStates ? model.optimizerStates : 0); ++i)
    states.emplace_back(trainedSize * sizeof(float));
  for (size_t index = 0; index < model.parameters.size(); ++index) {
    const ParameterInfo &info = model.parameters[index];
    for (int64_t i = 0; i < info.elements; ++i)
      memcpy(values(index) + i, onnx + info.offset + i * info.stride, sizeof(float));
  }
}

float *Parameters::values(size_t index) {
  return (model.parameters[index].trained ? trained : frozen).floats() + starts[index];
}

const float *Parameters::values(size_t index) const {
  return (model.parameters[index].trained ? trained : frozen).floats() + starts[index];
}

void Parameters::addTo(ViewTable &views) {
  for (size_t index = 0; index < model.parameters.size(); ++index) {
    const ParameterInfo &info = model.parameters[index];
    views["param:" + info.name] = {values(index), info.shape};
    if (info.trained)
      views["grad:" + info.name] = {gradient(index), info.shape};
  }
  views["flat_params"] = {trained.data(), {trainedSize}};
  views["flat_grads"] = {gradients.data(), {trainedSize}};
  for (size_t i = 0; i < 2; ++i) {
    // An optimizer with fewer states does not look at the others.
    bool used = i < states.size();
    views["flat_state" + std::to_string(i)] = {used ? states[i].data() : trained.data(),
                                               {used ? trainedSize : 0}};
  }
}
