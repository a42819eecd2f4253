//===- PositionWeights.h - What the positions of a loss count -------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_RUNTIME_FILES_POSITIONWEIGHTS_H
#define BPPSA_LIB_RUNTIME_FILES_POSITIONWEIGHTS_H

#include "bppsa/Runtime/Files/Dataset.h"

namespace bppsa::runtime {

/// The input that holds the lengths of the sequences that a loss has positions for, or null.
const ArrayInfo *findLengths(const Model &model, const LossInfo &loss);

/// Whether the weights of positions follow from other arrays.
bool derivesWeights(const Model &model, const LossInfo &loss);

/// Gives those of `positions` positions whose target is ignored the target 0 and the weight 0.
void ignoreTargets(const Model &model, const LossInfo &loss, std::byte *target, float *weights,
                   int64_t positions);

/// Element `i` of an array of int32 or int64.
int64_t elementAt(const std::byte *data, DType dtype, int64_t i);

/// Says what the losses of `batch`, whose arrays are filled, count; `isWeighted` tells of a loss
/// whether its positions count differently.
void weighLosses(const Model &model, Batch &batch, const std::function<bool(size_t)> &isWeighted);

} // namespace bppsa::runtime

#endif // BPPSA_LIB_RUNTIME_FILES_POSITIONWEIGHTS_H
