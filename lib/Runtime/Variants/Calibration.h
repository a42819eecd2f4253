//===- Calibration.h - Constants measured on a GPU ------------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_RUNTIME_VARIANTS_CALIBRATION_H
#define BPPSA_LIB_RUNTIME_VARIANTS_CALIBRATION_H

#include "bppsa/Runtime/Options.h"

namespace bppsa::runtime {

/// The constants in the file that `bench --calibrate` wrote for this program and its device. Throws
/// Error where it holds none, or those of another program or device.
cost::DeviceConstants readCalibration(const std::string &path, const Program &program);

/// `bench --calibrate`: times the variants at lengths and batches up to those of the options, fits
/// the constants of the cost model and prints them, with every time and its prediction, as JSON;
/// also into the file of the options.
void calibrateCommand(const Program &program, const Options &options);

} // namespace bppsa::runtime

#endif // BPPSA_LIB_RUNTIME_VARIANTS_CALIBRATION_H
