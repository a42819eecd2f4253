//===- Layers.h - loop nests of test layers ---------------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// Loop nests over row-major arrays, as the importer creates them for the layers of a network.
// Images have the loops (n, channels..., rows, columns).
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_UNITTESTS_DIALECT_JACOBIAN_SPARSITY_LAYERS_H
#define BPPSA_UNITTESTS_DIALECT_JACOBIAN_SPARSITY_LAYERS_H

#include "bppsa/Dialect/Jacobian/Sparsity/AccessPattern.h"
#include "mlir/IR/AffineExpr.h"
#include "mlir/IR/MLIRContext.h"
#include "llvm/ADT/STLExtras.h"

namespace bppsa::test {

/// One axis of a sliding window.
struct Window {
  int64_t size, kernel, stride = 1, dilation = 1, before = 0, after = 0;

  int64_t getPadded() const { return before + size + after; }
  int64_t getOutput() const { return (getPadded() - dilation * (kernel - 1) - 1) / stride + 1; }
};

/// A nest that reads `operand` and writes `result`. `factor` is set for layers with weights.
struct Layer {
  LoopNest nest;
  ArrayAccess operand, result, factor;
};

/// Loops n, g, o, y, x, i, ky, kx. The operand is [n, g, i, Y, X] and padded.
inline Layer makeConv(mlir::MLIRContext *context, int64_t groups, int64_t in, int64_t out, Window y,
                      Window x) {
  mlir::AffineExpr n, g, o, oy, ox, i, ky, kx;
  mlir::bindDims(context, n, g, o, oy, ox, i, ky, kx);
  auto map = [&](llvm::ArrayRef<mlir::AffineExpr> exprs) {
    return mlir::AffineMap::get(8, 0, exprs, context);
  };
  Layer layer;
  layer.nest = {{-1, groups, out, y.getOutput(), x.getOutput(), in, y.kernel, x.kernel}, 0};
  layer.operand = {map({n, g, i, oy * y.stride + ky * y.dilation, ox * x.stride + kx * x.dilation}),
                   {-1, groups, in, y.getPadded(), x.getPadded()}};
  layer.factor = {map({g, o, i, ky, kx}), {groups, out, in, y.kernel, x.kernel}};
  layer.result = {map({n, g, o, oy, ox}), {-1, groups, out, y.getOutput(), x.getOutput()}};
  return layer;
}

/// Loops n, c, y, x, ky, kx.
inline Layer makePool(mlir::MLIRContext *context, int64_t channels, Window y, Window x) {
  mlir::AffineExpr n, c, oy, ox, ky, kx;
  mlir::bindDims(context, n, c, oy, ox, ky, kx);
  auto map = [&](llvm::ArrayRef<mlir::AffineExpr> exprs) {
    return mlir::AffineMap::get(6, 0, exprs, context);
  };
  Layer layer;
  layer.nest = {{-1, channels, y.getOutput(), x.getOutput(), y.kernel, x.kernel}, 0};
  layer.operand = {map({n, c, oy * y.stride + ky * y.dilation, ox * x.stride + kx * x.dilation}),
                   {-1, channels, y.getPadded(), x.getPadded()}};
  layer.result = {map({n, c, oy, ox}), {-1, channels, y.getOutput(), x.getOutput()}};
  return layer;
}

inline Layer makeElementwise(mlir::MLIRContext *context, llvm::ArrayRef<int64_t> shape) {
  llvm::SmallVector<int64_t> extents(1, -1);
  extents.append(shape.begin(), shape.end());
  Layer layer;
  layer.nest = {extents, 0};
  layer.operand =
      layer.result = {mlir::AffineMap::getMultiDimIdentityMap(extents.size(), context), extents};
  return layer;
}

/// Loops n, o, i. The operand is [n, i] and the factor [o, i].
inline Layer makeGemm(mlir::MLIRContext *context, int64_t in, int64_t out) {
  mlir::AffineExpr n, o, i;
  mlir::bindDims(context, n, o, i);
  auto map = [&](mlir::AffineExpr a, mlir::AffineExpr b) {
    return mlir::AffineMap::get(3, 0, {a, b}, context);
  };
  Layer layer;
  layer.nest = {{-1, out, in}, 0};
  layer.operand = {map(n, i), {-1, in}};
  layer.factor = {map(o, i), {out, in}};
  layer.result = {map(n, o), {-1, out}};
  return layer;
}

inline SparsityPattern getPattern(const Layer &layer) {
  return *getAccessPattern(layer.nest, layer.operand, layer.result);
}

/// Returns the elements of the padded planes that are not padding, in order.
inline std::vector<int32_t> getInner(int64_t planes, Window y, Window x) {
  std::vector<int32_t> inner;
  for (int64_t plane = 0; plane < planes; ++plane)
    for (int64_t row = 0; row < y.size; ++row)
      for (int64_t col = 0; col < x.size; ++col)
        inner.push_back((plane * y.getPadded() + row + y.before) * x.getPadded() + col + x.before);
  return inner;
}

/// A 3x3 convolution of square images with padding 1.
inline SparsityPattern getConv3(mlir::MLIRContext *context, int64_t in, int64_t out, int64_t size) {
  Window window{size, 3, 1, 1, 1, 1};
  return getPattern(makeConv(context, 1, in, out, window, window))
      .selectRows(getInner(in, window, window));
}

/// Max pooling by 2x2 with stride 2.
inline SparsityPattern getPool2(mlir::MLIRContext *context, int64_t channels, int64_t size) {
  Window window{size, 2, 2};
  return getPattern(makePool(context, channels, window, window));
}

inline SparsityPattern getRelu(mlir::MLIRContext *context, int64_t channels, int64_t size) {
  return getPattern(makeElementwise(context, {channels, size, size}));
}

/// A 3 x 3 convolution of a `size` x `size` image.
struct Convolution {
  int64_t in, out, size;
  bool isPooled;
};

/// The convolutions of VGG-11 on 32 x 32 images. Some are followed by a 2 x 2 pool.
inline constexpr Convolution vgg11[] = {
    {3, 64, 32, true},    {64, 128, 16, true}, {128, 256, 8, false}, {256, 256, 8, true},
    {256, 512, 4, false}, {512, 512, 4, true}, {512, 512, 2, false}, {512, 512, 2, true}};

} // namespace bppsa::test

#endif // BPPSA_UNITTESTS_DIALECT_JACOBIAN_SPARSITY_LAYERS_H
