//===- DeviceArrays.h - vector copies on a GPU ------------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_DIALECT_BGPU_ANALYSIS_DEVICEARRAYS_H
#define BPPSA_DIALECT_BGPU_ANALYSIS_DEVICEARRAYS_H

#include "bppsa/CostModel/Machines/DeviceShapes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/ValueRange.h"

namespace bppsa {

/// The number of f32 elements per 16-byte load or copy.
inline constexpr int64_t kElementsPerAccess = 4;

/// Returns the largest power of two, up to `most`, that divides the offsets of all vectors of
/// `array` (its last dimension) and their length, so that one instruction can move as many
/// elements. The offset of a subview is known if it is static, or if the subview consists of whole
/// vectors.
int64_t getAlignedElements(mlir::MemRefType array, int64_t most = kElementsPerAccess);

/// Returns the elements that a thread copies per instruction from a vector of `array`, `[step,
/// sample, row]`. Long vectors use 16-byte copies.
int64_t getCopyWidth(mlir::MemRefType array, int64_t numThreads);

/// Returns the shared-memory size of a vector, rounded up for copies past its end.
int64_t getStagedRows(mlir::MemRefType array);

/// Returns the ring stages for reading `sources`, `[step, sample, row]`, ahead within `maxBytes` of
/// shared memory; 0 if impossible.
int64_t countStages(mlir::ValueRange sources, int64_t maxBytes = cost::kMaxRingBytes);

int64_t getStagedBytes(mlir::ValueRange sources, int64_t stages);

} // namespace bppsa

#endif // BPPSA_DIALECT_BGPU_ANALYSIS_DEVICEARRAYS_H
