//===- Calibration.h - Calibration of the GPU cost model ------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_RUNTIME_VARIANTS_CALIBRATION_H
#define BPPSA_LIB_RUNTIME_VARIANTS_CALIBRATION_H

#include "bppsa/Runtime/Options.h"

namespace bppsa::runtime {

/// Reads the constants that `bench --calibrate` wrote for this program and its device. Throws Error
/// if the file is invalid or was measured with another program or device.
cost::DeviceConstants readCalibration(const std::string &path, const Program &program);

/// Runs `bench --calibrate`: times the variants for lengths and batch sizes up to the limits in the
/// options, and fits the constants of the cost model. Prints them as JSON with all measured and
/// predicted times, and writes them to the file of the options.
void calibrateCommand(const Program &program, const Options &options);

} // namespace bppsa::runtime

#endif // BPPSA_LIB_RUNTIME_VARIANTS_CALIBRATION_H
