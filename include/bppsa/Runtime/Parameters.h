//===- Parameters.h - Parameters, gradients and optimizer states ----------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_RUNTIME_PARAMETERS_H
#define BPPSA_RUNTIME_PARAMETERS_H

#include "bppsa/Runtime/Call.h"
#include "bppsa/Runtime/Memory.h"
#include "bppsa/Runtime/Model.h"

namespace bppsa::runtime {

/// Trained parameters, their gradients and optimizer states live in flat arrays with the same
/// layout: parameter after parameter in file order, each padded with zeros to a multiple of
/// 16 floats. Parameters that are not trained have an array of their own.
class Parameters {
public:
  /// Takes the initial values from the ONNX file. Only `train` needs optimizer states.
  Parameters(const Model &model, const unsigned char *onnx, bool withStates);

  /// "param:", "grad:" for every parameter, and "flat_*".
  void addTo(ViewTable &views);

  /// Where parameter `index` starts in its flat array.
  int64_t start(size_t index) const { return starts[index]; }
  float *values(size_t index);
  const float *values(size_t index) const;
  float *gradient(size_t index) { return gradients.floats() + starts[index]; }
  float *state(size_t which, size_t index) { return states[which].floats() + starts[index]; }
  const float *state(size_t which, size_t index) const {
    return states[which].floats() + starts[index];
  }
  size_t stateCount() const { return states.size(); }

private:
  const Model &model;
  std::vector<int64_t> starts;
  int64_t trainedSize = 0, frozenSize = 0;
  Buffer trained, frozen, gradients;
  std::vector<Buffer> states;
};

} // namespace bppsa::runtime

#endif // BPPSA_RUNTIME_PARAMETERS_H
