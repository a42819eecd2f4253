//===- Parameters.h - Parameters, gradients and optimizer states ----------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_RUNTIME_TRAINING_PARAMETERS_H
#define BPPSA_RUNTIME_TRAINING_PARAMETERS_H

#include "bppsa/Runtime/Call.h"
#include "bppsa/Runtime/Memory.h"
#include "bppsa/Runtime/Model.h"

namespace bppsa::runtime {

/// An array of floats that both the host and kernels of a device read and write.
class SharedFloats {
public:
  explicit SharedFloats(int64_t count = 0);

  /// What the last of both has written.
  const float *read() const;
  /// The same, to be changed before the next call of a compiled function.
  float *write();
  /// A part of it, as an argument of compiled functions.
  View view(int64_t start, std::vector<int64_t> shape, Access access);
  int64_t size() const { return static_cast<int64_t>(memory.size() / sizeof(float)); }

private:
  Buffer memory;
  /// Reading may bring the host's copy up to date.
  mutable DeviceMirror mirror;
};

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
  const float *values(size_t index) const;
  const float *gradient(size_t index) const { return gradients.read() + starts[index]; }
  const float *state(size_t which, size_t index) const {
    return states[which].read() + starts[index];
  }
  /// All gradients in their flat array, to be read and changed before the next call.
  float *changeGradients() { return gradients.write(); }
  int64_t gradientCount() const { return gradients.size(); }
  float *changeValues(size_t index);
  float *changeState(size_t which, size_t index) { return states[which].write() + starts[index]; }
  /// Sets the gradients of rows that are not trained to zero.
  void maskGradients();
  /// The values of rows that are not trained, and the way back to them.
  std::vector<float> frozenRows() const;
  void restoreRows(const std::vector<float> &rows);
  size_t stateCount() const { return states.size(); }

private:
  const Model &model;
  std::vector<int64_t> starts;
  SharedFloats trained, frozen, gradients;
  std::vector<SharedFloats> states;
};

} // namespace bppsa::runtime

#endif // BPPSA_RUNTIME_TRAINING_PARAMETERS_H
