//===- CalibrationFit.h - constants of a GPU from measurements --*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_COSTMODEL_MACHINES_CALIBRATIONFIT_H
#define BPPSA_COSTMODEL_MACHINES_CALIBRATIONFIT_H

#include "bppsa/CostModel/Machines/DeviceCost.h"

namespace bppsa::cost {

/// A backward pass that was timed.
struct Measurement {
  Plan plan;
  int64_t steps = 0, samples = 0;
  double microseconds = 0;
};

/// The constants, none negative, with which predict() comes closest to `measurements`: least
/// squares of the relative errors. What no measurement depends on stays as in `start`, as do name,
/// multiprocessors and bandwidth.
DeviceConstants fitConstants(const std::vector<ChainCost> &chains,
                             const std::vector<Measurement> &measurements,
                             const DeviceConstants &start);

} // namespace bppsa::cost

#endif // BPPSA_COSTMODEL_MACHINES_CALIBRATIONFIT_H
