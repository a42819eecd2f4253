//===- Calibration.h - Calibration of the GPU cost model ------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_RUNTIME_VARIANTS_CALIBRATION_H
#define BPPSA_LIB_RUNTIME_VARIANTS_CALIBRATION_H

#include "bppsa/Runtime/Options.h"

namespace bppsa::runtime {

/// Reads the constants of `bench --calibrate`. Throws Error for another program or device.
cost::DeviceConstants readCalibration(const std::string &path, const Program &program);

/// Times variants for increasing sizes, fits the constants of the cost model, and prints and writes
/// them as JSON.
void calibrateCommand(const Program &program, const Options &options);

} // namespace bppsa::runtime

#endif // BPPSA_LIB_RUNTIME_VARIANTS_CALIBRATION_H
