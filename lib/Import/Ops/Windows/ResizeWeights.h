//===- ResizeWeights.h - what elements weigh along a resized axis -*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_IMPORT_OPS_WINDOWS_RESIZEWEIGHTS_H
#define BPPSA_LIB_IMPORT_OPS_WINDOWS_RESIZEWEIGHTS_H

#include "mlir/Support/LLVM.h"

namespace bppsa {

/// How positions of the result are made of elements, in the words of ONNX.
struct ResizeMode {
  llvm::StringRef mode, coordinates, nearest;
  float cubicCoefficient = -0.75f;
  bool excludesOutside = false, isAntialiased = false;

  bool isCrop() const { return coordinates == "tf_crop_and_resize"; }
};

/// How one axis is resized. Positions are computed in float, as ONNX Runtime does it.
struct AxisResize {
  const ResizeMode &mode;
  int64_t in, out;
  float scale;
  /// The part of the axis that is cropped, where 0 and 1 are its ends.
  float cropBegin = 0, cropEnd = 1;

  /// What the elements of the axis weigh in the element at `position` of the result: nothing where
  /// it lies outside.
  llvm::SmallVector<float> getWeights(int64_t position) const;
  /// Whether the element at `position` of the result lies beyond the cropped axis.
  bool isOutside(int64_t position) const;

private:
  float getCoordinate(int64_t position) const;
  int64_t getNearest(float x) const;
  float getKernel(float distance) const;
  void addNeighbours(float x, llvm::MutableArrayRef<float> weights) const;
};

} // namespace bppsa

#endif // BPPSA_LIB_IMPORT_OPS_WINDOWS_RESIZEWEIGHTS_H
