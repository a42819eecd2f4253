//===- Window.h - windows that slide over spatial axes ----------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_IMPORT_OPS_WINDOWS_WINDOW_H
#define BPPSA_LIB_IMPORT_OPS_WINDOWS_WINDOW_H

#include "../../Model/Importer.h"

namespace bppsa {

/// How a window moves along one spatial axis: output element `o` sees the
/// elements `o * stride + k * dilation`, for k in [0, kernel), of the input
/// after `padBegin` elements were put before it and `padEnd` after it.
struct WindowAxis {
  int64_t kernel = 1, stride = 1, dilation = 1;
  int64_t padBegin = 0, padEnd = 0;
  /// Elements after the input that the node asks for; `padEnd` also holds those
  /// that only a rounded-up output size reaches.
  int64_t givenPadEnd = 0;
  mlir::AffineExpr input, output;

  /// The place `o * stride + k * dilation`.
  mlir::AffineExpr getPlace(mlir::AffineExpr o, mlir::AffineExpr k) const {
    return o * stride + k * dilation;
  }
  bool isPadded() const { return padBegin != 0 || padEnd != 0; }
};

/// The list attribute `name`: `count` numbers from `low` to 2^24, all `otherwise` if it is absent.
mlir::FailureOr<llvm::SmallVector<int64_t>>
readExtents(Node &node, llvm::StringRef name, size_t count, int64_t low, int64_t otherwise);

/// Kernel, stride, dilation and given pads of each axis of a node, without sizes.
mlir::FailureOr<llvm::SmallVector<WindowAxis>> readWindowExtents(Node &node,
                                                                 llvm::ArrayRef<int64_t> kernel);

/// The axes of a node whose data input has the dimensions `[N, C, ...]`, from
/// its attributes strides, dilations, pads, auto_pad and ceil_mode.
mlir::FailureOr<llvm::SmallVector<WindowAxis>> readWindow(Node &node, const Tensor &data,
                                                          llvm::ArrayRef<int64_t> kernel);

/// `data` of shape `[N, C, ...]` with the elements `padding` around it.
Tensor padForWindow(GraphBuilder &graph, const Tensor &data, llvm::ArrayRef<WindowAxis> window,
                    float padding);

/// The sizes of `W`, the second input of a convolution of `X`, the first one: `[_, _, kernel...]`.
/// Fails after an error where they are not fixed, or do not fit `X` or the attribute
/// `kernel_shape`.
mlir::FailureOr<llvm::SmallVector<int64_t>> readKernelSizes(Node &node);

/// The maps of the loops of a convolution: sample, group (where `isGrouped`), first dimension of
/// `W`, places, second dimension of `W`, places in the window. `wide` is the array that windows
/// slide over, with that second dimension, and `narrow` the one with an element for each window.
struct WindowMaps {
  mlir::AffineMap wide, kernel, narrow;
};
WindowMaps getWindowMaps(llvm::ArrayRef<WindowAxis> axes, bool isGrouped,
                         mlir::MLIRContext *context);

/// What the sums of a convolution with `groups` times `features` features start from, in an array
/// of `dims`: the bias of each feature, its third input, or zero.
Tensor makeWindowInit(Node &node, int64_t groups, int64_t features, size_t numAxes,
                      llvm::ArrayRef<Dim> dims);

} // namespace bppsa

#endif // BPPSA_LIB_IMPORT_OPS_WINDOWS_WINDOW_H
