//===- ResizeWeights.h - interpolation weights of Resize --------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_IMPORT_OPS_WINDOWS_RESIZEWEIGHTS_H
#define BPPSA_LIB_IMPORT_OPS_WINDOWS_RESIZEWEIGHTS_H

#include "mlir/Support/LLVM.h"

namespace bppsa {

struct ResizeMode {
  llvm::StringRef mode, coordinates, nearest;
  float cubicCoefficient = -0.75f;
  bool excludesOutside = false, isAntialiased = false;

  bool isCrop() const { return coordinates == "tf_crop_and_resize"; }
};

/// The resizing of one axis. Positions are computed in float, as in ONNX Runtime.
struct AxisResize {
  const ResizeMode &mode;
  int64_t in, out;
  float scale;
  /// The cropped part of the axis, from 0 (first element) to 1 (last element).
  float cropBegin = 0, cropEnd = 1;

  /// Returns the weights of the elements of the axis in the result element at `position`; all zero
  /// if it is outside.
  llvm::SmallVector<float> getWeights(int64_t position) const;
  bool isOutside(int64_t position) const;

private:
  float getCoordinate(int64_t position) const;
  int64_t getNearest(float x) const;
  float getKernel(float distance) const;
  void addNeighbours(float x, llvm::MutableArrayRef<float> weights) const;
};

} // namespace bppsa

#endif // BPPSA_LIB_IMPORT_OPS_WINDOWS_RESIZEWEIGHTS_H
