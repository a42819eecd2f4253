//===- Window.h - windows that slide over spatial axes ----------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_IMPORT_OPS_WINDOWS_WINDOW_H
#define BPPSA_LIB_IMPORT_OPS_WINDOWS_WINDOW_H

#include "../../Model/Importer.h"

namespace bppsa {

/// Output element `o` reads `o * stride + k * dilation`, for k in [0, kernel), of the padded input.
struct WindowAxis {
  int64_t kernel = 1, stride = 1, dilation = 1;
  int64_t padBegin = 0, padEnd = 0;
  /// End padding requested by the node. `padEnd` also includes elements that only a rounded-up
  /// output size reaches.
  int64_t givenPadEnd = 0;
  mlir::AffineExpr input, output;

  /// Returns the input position `o * stride + k * dilation`.
  mlir::AffineExpr getPlace(mlir::AffineExpr o, mlir::AffineExpr k) const {
    return o * stride + k * dilation;
  }
  bool isPadded() const { return padBegin != 0 || padEnd != 0; }
};

/// Reads the list attribute `name`: `count` integers from `low` to 2^24, all `otherwise` if it is
/// absent.
mlir::FailureOr<llvm::SmallVector<int64_t>>
readExtents(Node &node, llvm::StringRef name, size_t count, int64_t low, int64_t otherwise);

/// Reads the kernel, stride, dilation and explicit padding of each axis of a node, without sizes.
mlir::FailureOr<llvm::SmallVector<WindowAxis>> readWindowExtents(Node &node,
                                                                 llvm::ArrayRef<int64_t> kernel);

/// Reads the axes of a node whose data input has the dimensions `[N, C, ...]` from the attributes
/// strides, dilations, pads, auto_pad and ceil_mode.
mlir::FailureOr<llvm::SmallVector<WindowAxis>> readWindow(Node &node, const Tensor &data,
                                                          llvm::ArrayRef<int64_t> kernel);

Tensor padForWindow(GraphBuilder &graph, const Tensor &data, llvm::ArrayRef<WindowAxis> window,
                    float padding);

/// Reads the sizes of `W`, the second input of a convolution of `X`, the first input: `[_, _,
/// kernel...]`. Emits an error if they are not fixed or do not match.
mlir::FailureOr<llvm::SmallVector<int64_t>> readKernelSizes(Node &node);

/// The indexing maps of a convolution: `wide` is the array that windows slide over; `narrow` has
/// one element per window.
struct WindowMaps {
  mlir::AffineMap wide, kernel, narrow;
};
WindowMaps getWindowMaps(llvm::ArrayRef<WindowAxis> axes, bool isGrouped,
                         mlir::MLIRContext *context);

/// Creates the initial accumulator of a convolution: the bias of each feature, or zero.
Tensor makeWindowInit(Node &node, int64_t groups, int64_t features, size_t numAxes,
                      llvm::ArrayRef<Dim> dims);

} // namespace bppsa

#endif // BPPSA_LIB_IMPORT_OPS_WINDOWS_WINDOW_H
