//===- Parameters.h - Parameters, gradients and optimizer states ----------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_RUNTIME_TRAINING_PARAMETERS_H
#define BPPSA_RUNTIME_TRAINING_PARAMETERS_H

#include "bppsa/Runtime/Call.h"
#include "bppsa/Runtime/Memory.h"
#include "bppsa/Runtime/Model.h"

#include <map>
#include <optional>

namespace bppsa::runtime {

class SharedFloats {
public:
  explicit SharedFloats(int64_t count = 0);

  const float *read() const;
  /// Returns current values, which may be changed until the next call.
  float *write();
  View view(int64_t start, std::vector<int64_t> shape, Access access);
  int64_t size() const { return static_cast<int64_t>(memory.size() / sizeof(float)); }

private:
  Buffer memory;
  mutable DeviceMirror mirror;
};

/// Trained parameters, gradients and optimizer states share one flat layout: parameters in file
/// order, each zero-padded to a multiple of 16 floats. Running statistics and frozen parameters are
/// separate.
class Parameters {
public:
  /// Reads initial values from the ONNX file. Only `train` needs states.
  Parameters(const Model &model, const unsigned char *onnx, bool withStates);

  /// Adds "param:", "grad:", "updated:" and "flat_*" views.
  void addTo(ViewTable &views);

  void addRange(ViewTable &views, int64_t start, int64_t size);

  int64_t start(size_t index) const { return starts[index]; }
  const float *values(size_t index) const;
  const float *gradient(size_t index) const { return gradients.read() + starts[index]; }
  const float *state(size_t which, size_t index) const {
    return states[which].read() + starts[index];
  }
  float *changeGradients() { return gradients.write(); }
  int64_t gradientCount() const { return gradients.size(); }
  float *changeValues(size_t index);
  float *changeState(size_t which, size_t index) { return states[which].write() + starts[index]; }
  /// Zeroes the gradients of frozen rows.
  void maskGradients(std::optional<size_t> index = std::nullopt);
  void maskPrunedGradients(size_t index);
  std::vector<float> frozenRows(std::optional<size_t> index = std::nullopt) const;
  void restoreRows(const std::vector<float> &rows, std::optional<size_t> index = std::nullopt);
  void acceptStatistics();
  void acceptStatistic(size_t index);
  size_t stateCount() const { return states.size(); }

  void keepAverage() { averages = SharedFloats(trained.size()); }
  void dropAverage() { averages = SharedFloats(); }
  bool hasAverage() const { return averages.size() > 0; }
  /// average += (1 - decay) * (value - average). restartAverage() sets it to the current values.
  void addToAverage(double decay, int64_t start, int64_t size);
  void restartAverage(int64_t start, int64_t size);
  void exchangeAverage();
  const float *average(size_t index) const { return averages.read() + starts[index]; }
  float *changeAverage(size_t index) { return averages.write() + starts[index]; }

private:
  SharedFloats &arrayOf(const ParameterInfo &info);
  const SharedFloats &arrayOf(const ParameterInfo &info) const;
  void findLiveBlocks();
  void addLiveBlocks(ViewTable &views, int64_t start, int64_t size);

  const Model &model;
  const unsigned char *onnx;
  std::vector<int64_t> starts;
  /// For pruned models, the blocks of 16 floats with unpruned values. Updates only touch these.
  std::vector<int32_t> liveBlocks;
  std::map<std::pair<int64_t, int64_t>, std::vector<int32_t>> blocksOfRanges;
  SharedFloats trained, statistics, frozen, gradients, averages;
  SharedFloats updated;
  std::vector<SharedFloats> states;
};

/// Replaces the values by their average during its lifetime.
class AveragedValues {
public:
  explicit AveragedValues(Parameters &parameters) : parameters(parameters) { exchange(); }
  ~AveragedValues() { exchange(); }
  AveragedValues(const AveragedValues &) = delete;

private:
  void exchange() {
    if (parameters.hasAverage())
      parameters.exchangeAverage();
  }
  Parameters &parameters;
};

} // namespace bppsa::runtime

#endif // BPPSA_RUNTIME_TRAINING_PARAMETERS_H
