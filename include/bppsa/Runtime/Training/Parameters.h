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

#include <map>
#include <optional>

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
/// 16 floats. Running statistics, which steps compute anew, have arrays of their own, and so have
/// parameters that never change.
class Parameters {
public:
  /// Takes the initial values from the ONNX file. Only `train` needs optimizer states.
  Parameters(const Model &model, const unsigned char *onnx, bool withStates);

  /// "param:", "grad:" or "updated:" for every parameter, and "flat_*".
  void addTo(ViewTable &views);

  /// The arguments of an update of `size` elements of the flat arrays, from `start` on.
  void addRange(ViewTable &views, int64_t start, int64_t size);

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
  /// Sets the gradients of rows that are not trained to zero: those of all parameters, or of one.
  void maskGradients(std::optional<size_t> index = std::nullopt);
  /// Sets the gradients of pruned elements of parameter `index` to zero.
  void maskPrunedGradients(size_t index);
  /// The values of rows that are not trained, and the way back to them.
  std::vector<float> frozenRows(std::optional<size_t> index = std::nullopt) const;
  void restoreRows(const std::vector<float> &rows, std::optional<size_t> index = std::nullopt);
  /// Makes the running statistics that the last step has computed those of the model.
  void acceptStatistics();
  /// Only that one.
  void acceptStatistic(size_t index);
  size_t stateCount() const { return states.size(); }

  /// Keeps an average of the trained values.
  void keepAverage() { averages = SharedFloats(trained.size()); }
  void dropAverage() { averages = SharedFloats(); }
  bool hasAverage() const { return averages.size() > 0; }
  /// Moves the average of `size` values from `start` on to them by the share `1 - decay` of what is
  /// between them, or takes them as the average.
  void addToAverage(double decay, int64_t start, int64_t size);
  void restartAverage(int64_t start, int64_t size);
  /// Exchanges all values and their average.
  void exchangeAverage();
  const float *average(size_t index) const { return averages.read() + starts[index]; }
  float *changeAverage(size_t index) { return averages.write() + starts[index]; }

private:
  /// Where the values of a parameter are.
  SharedFloats &arrayOf(const ParameterInfo &info);
  const SharedFloats &arrayOf(const ParameterInfo &info) const;
  void findLiveBlocks();
  void addLiveBlocks(ViewTable &views, int64_t start, int64_t size);

  const Model &model;
  const unsigned char *onnx;
  std::vector<int64_t> starts;
  /// Of a pruned model, the blocks of 16 trained floats, by number, of which not all are pruned:
  /// updates touch no others.
  std::vector<int32_t> liveBlocks;
  /// The same of ranges that begin further on, by start and size, for calls that were prepared.
  std::map<std::pair<int64_t, int64_t>, std::vector<int32_t>> blocksOfRanges;
  SharedFloats trained, statistics, frozen, gradients, averages;
  /// The statistics after the last step.
  SharedFloats updated;
  std::vector<SharedFloats> states;
};

/// The average of the weights stands in the place of the values while this lives.
class AveragedValues {
public:
  /// Does nothing where no average is kept.
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
