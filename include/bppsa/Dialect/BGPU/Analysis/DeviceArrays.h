//===- DeviceArrays.h - how a GPU copies the vectors of arrays --*- C++ -*-===//
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

/// Elements of f32 that one instruction loads or copies, where they begin at a multiple of 16
/// bytes.
inline constexpr int64_t kLoadedTogether = 4;

/// How many neighbours, a power of two up to `most`, one instruction may move wherever a vector of
/// `array` (its last dimension) is cut into as many: all vectors begin at multiples of them. A part
/// of an array is known to do so where its offset is known, or where it has whole vectors.
int64_t getAlignedElements(mlir::MemRefType array, int64_t most = kLoadedTogether);

/// Elements that each of `numThreads` threads copies at a time of a vector of `array`, `[step,
/// sample, row]`: long ones are copied by 16 bytes, which need fewer instructions.
int64_t getCopyWidth(mlir::MemRefType array, int64_t numThreads);

/// Rows of a vector in shared memory: a warp's copies of the largest kind may go beyond it.
int64_t getStagedRows(mlir::MemRefType array);

/// Steps that are read ahead of `sources`, memrefs or tensors `[step, sample, row]`, in `maxBytes`
/// of shared memory; 0 where they do not fit, or cannot be copied.
int64_t countStages(mlir::ValueRange sources, int64_t maxBytes = cost::kMaxRingBytes);

/// Bytes of shared memory that so many stages of `sources` take.
int64_t getStagedBytes(mlir::ValueRange sources, int64_t stages);

} // namespace bppsa

#endif // BPPSA_DIALECT_BGPU_ANALYSIS_DEVICEARRAYS_H
