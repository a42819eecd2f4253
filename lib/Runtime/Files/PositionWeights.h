//===- PositionWeights.h - Weights of loss positions ------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_RUNTIME_FILES_POSITIONWEIGHTS_H
#define BPPSA_LIB_RUNTIME_FILES_POSITIONWEIGHTS_H

#include "bppsa/Runtime/Files/Dataset.h"

namespace bppsa::runtime {

/// Returns the input with sequence lengths for the loss, or null.
const ArrayInfo *findLengths(const Model &model, const LossInfo &loss);

/// Returns true if weights follow from ignored targets or sample lengths.
bool derivesWeights(const Model &model, const LossInfo &loss);

void ignoreTargets(const Model &model, const LossInfo &loss, std::byte *target, float *weights,
                   int64_t positions);

int64_t elementAt(const std::byte *data, DType dtype, int64_t i);

void weighLosses(const Model &model, Batch &batch, const std::function<bool(size_t)> &isWeighted);

} // namespace bppsa::runtime

#endif // BPPSA_LIB_RUNTIME_FILES_POSITIONWEIGHTS_H
