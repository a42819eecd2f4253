//===- SampleLayout.h - samples of plain and packed arrays ------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_REFERENCE_SAMPLELAYOUT_H
#define BPPSA_LIB_REFERENCE_SAMPLELAYOUT_H

#include "bppsa/Reference/Array.h"
#include <optional>

namespace bppsa {

/// Reads and writes the vectors of single samples in arrays of one layout.
class SampleLayout {
public:
  explicit SampleLayout(std::optional<int64_t> lanes) : lanes(lanes) {}

  int64_t getNumSteps(const Array &sequence) const { return sequence.shape[lanes ? 1 : 0]; }
  /// Samples of a sequence, padding lanes included.
  int64_t getNumSamples(const Array &sequence) const {
    return lanes ? sequence.shape[0] * *lanes : sequence.shape[1];
  }
  llvm::SmallVector<int64_t> getStateShape(int64_t samples, int64_t features) const {
    if (!lanes)
      return {samples, features};
    return {samples / *lanes, features, *lanes};
  }
  llvm::SmallVector<int64_t> getSequenceShape(int64_t steps, int64_t samples,
                                              int64_t features) const {
    if (!lanes)
      return {steps, samples, features};
    return {samples / *lanes, steps, features, *lanes};
  }

  /// The vector of sample `b` of a state, or of a sequence at `step`.
  Array read(const Array &array, std::optional<int64_t> step, int64_t b) const {
    Array result = Array::makeZeros(array.shape[getFeatureAxis(array)], array.isFloat);
    for (int64_t n = 0; n < result.shape[0]; ++n)
      result.copyElement(n, array, getPosition(array, step, b, n));
    return result;
  }
  void write(Array &array, std::optional<int64_t> step, int64_t b, const Array &vector) const {
    for (int64_t n = 0; n < vector.shape[0]; ++n)
      array.copyElement(getPosition(array, step, b, n), vector, n);
  }
  double readElement(const Array &array, int64_t step, int64_t b, int64_t n) const {
    return array.reals[getPosition(array, step, b, n)];
  }

private:
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

#endif // BPPSA_LIB_REFERENCE_SAMPLELAYOUT_H
