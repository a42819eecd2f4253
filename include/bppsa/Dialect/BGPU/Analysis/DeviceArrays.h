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

/// Returns the number of elements that each of `numThreads` threads copies per instruction from a
/// vector of `array`, `[step, sample, row]`. Long vectors use 16-byte copies, which need fewer
/// instructions.
int64_t getCopyWidth(mlir::MemRefType array, int64_t numThreads);

/// Returns the size of a vector in shared memory, rounded up because the widest copies of a warp
/// may extend past its end.
int64_t getStagedRows(mlir::MemRefType array);

/// Returns the number of ring stages for reading `sources` ahead, memrefs or tensors `[step,
/// sample, row]`, within `maxBytes` of shared memory. Returns 0 if they do not fit or cannot be
/// copied.
int64_t countStages(mlir::ValueRange sources, int64_t maxBytes = cost::kMaxRingBytes);

/// Returns the shared memory of `stages` stages of `sources`, in bytes.
int64_t getStagedBytes(mlir::ValueRange sources, int64_t stages);

} // namespace bppsa

#endif // BPPSA_DIALECT_BGPU_ANALYSIS_DEVICEARRAYS_H
