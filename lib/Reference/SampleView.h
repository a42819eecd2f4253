//===- SampleView.h - samples of plain and packed arrays --------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_REFERENCE_SAMPLEVIEW_H
#define BPPSA_LIB_REFERENCE_SAMPLEVIEW_H

#include "bppsa/Reference/Array.h"
#include <optional>

namespace bppsa {

/// Accesses single samples in arrays of one layout. With lanes, their values are vectors.
class SampleView {
public:
  explicit SampleView(std::optional<int64_t> lanes) : lanes(lanes) {}

  int64_t getNumSteps(const Array &sequence) const { return sequence.shape[lanes ? 1 : 0]; }
  /// Returns the number of samples, including padding lanes.
  int64_t getNumSamples(const Array &sequence) const {
    return lanes ? sequence.shape[0] * *lanes : sequence.shape[1];
  }
  llvm::SmallVector<int64_t> getStateShape(int64_t samples, llvm::ArrayRef<int64_t> value) const {
    return getShape({samples}, value);
  }
  llvm::SmallVector<int64_t> getSequenceShape(int64_t steps, int64_t samples,
                                              llvm::ArrayRef<int64_t> value) const {
    if (!lanes)
      return getShape({steps, samples}, value);
    return {samples / *lanes, steps, value.front(), *lanes};
  }

  llvm::SmallVector<int64_t> getValueShape(const Array &array, bool hasTime) const {
    auto shape = llvm::ArrayRef<int64_t>(array.shape).drop_front(hasTime ? 2 : 1);
    return llvm::SmallVector<int64_t>(lanes ? shape.drop_back() : shape);
  }

  Array read(const Array &array, std::optional<int64_t> step, int64_t b) const {
    if (!lanes) {
      llvm::SmallVector<int64_t> shape = getValueShape(array, step.has_value());
      return array.slice(getFirst(array, step, b), shape);
    }
    Array result = Array::makeZeros(array.shape[getFeatureAxis(array)], array.isFloat);
    for (int64_t n = 0; n < result.shape[0]; ++n)
      result.copyElement(n, array, getPosition(array, step, b, n));
    return result;
  }
  void write(Array &array, std::optional<int64_t> step, int64_t b, const Array &value) const {
    for (int64_t n = 0, count = value.getNumElements(); n < count; ++n)
      array.copyElement(lanes ? getPosition(array, step, b, n) : getFirst(array, step, b) + n,
                        value, n);
  }
  double readElement(const Array &array, int64_t step, int64_t b, int64_t n) const {
    return array.reals[getPosition(array, step, b, n)];
  }

private:
  llvm::SmallVector<int64_t> getShape(llvm::SmallVector<int64_t> leading,
                                      llvm::ArrayRef<int64_t> value) const {
    leading.append(value.begin(), value.end());
    if (!lanes)
      return leading;
    leading.front() /= *lanes;
    leading.push_back(*lanes);
    return leading;
  }
  static int64_t getFirst(const Array &array, std::optional<int64_t> step, int64_t b) {
    int64_t sample = step ? *step * array.shape[1] + b : b;
    return sample * product(llvm::ArrayRef<int64_t>(array.shape).drop_front(step ? 2 : 1));
  }
  static int64_t product(llvm::ArrayRef<int64_t> shape) {
    int64_t result = 1;
    for (int64_t size : shape)
      result *= size;
    return result;
  }
  int64_t getFeatureAxis(const Array &array) const { return array.getRank() - (lanes ? 2 : 1); }
  int64_t getPosition(const Array &array, std::optional<int64_t> step, int64_t b, int64_t n) const {
    if (!lanes)
      return step ? array.getPosition({*step, b, n}) : array.getPosition({b, n});
    int64_t block = b / *lanes, lane = b % *lanes;
    return step ? array.getPosition({block, *step, n, lane}) : array.getPosition({block, n, lane});
  }

  std::optional<int64_t> lanes;
};

} // namespace bppsa

#endif // BPPSA_LIB_REFERENCE_SAMPLEVIEW_H
