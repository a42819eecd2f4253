//===- CalibrationFit.h - fit GPU constants to measurements -----*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_COSTMODEL_MACHINES_CALIBRATIONFIT_H
#define BPPSA_COSTMODEL_MACHINES_CALIBRATIONFIT_H

#include "bppsa/CostModel/Machines/DeviceCost.h"

namespace bppsa::cost {

struct Measurement {
  Plan plan;
  int64_t steps = 0, samples = 0;
  double microseconds = 0;
};

/// Fits nonnegative constants of predict() to `measurements` by least squares of relative errors.
/// Constants on which no measurement depends keep their value from `start`.
DeviceConstants fitConstants(const std::vector<ChainCost> &chains,
                             const std::vector<Measurement> &measurements,
                             const DeviceConstants &start);

} // namespace bppsa::cost

#endif // BPPSA_COSTMODEL_MACHINES_CALIBRATIONFIT_H
