//===- ResizeWeights.cpp - interpolation weights of Resize ----------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "ResizeWeights.h"
#include <cmath>

using namespace mlir;
using namespace bppsa;

float AxisResize::getCoordinate(int64_t position) const {
  StringRef name = mode.coordinates;
  float x = position;
  if (mode.isCrop())
    return out == 1 ? 0.5f * (cropBegin + cropEnd) * (in - 1)
                    : cropBegin * (in - 1) + x * (cropEnd - cropBegin) * (in - 1) / (out - 1);
  if (name == "asymmetric")
    return x / scale;
  if (name == "align_corners")
    return out == 1 ? 0 : x * (in - 1) / (out - 1);
  if (name == "pytorch_half_pixel" && out == 1)
    return 0;
  float halfPixel = (x + 0.5f) / scale - 0.5f;
  if (name != "half_pixel_symmetric")
    return halfPixel;
  float center = in / 2.0f;
  return center * (1 - out / (scale * in)) + halfPixel;
}

bool AxisResize::isOutside(int64_t position) const {
  float x = getCoordinate(position);
  return mode.isCrop() && (x < 0 || x > in - 1);
}

int64_t AxisResize::getNearest(float x) const {
  float nearest = mode.nearest == "floor"               ? std::floor(x)
                  : mode.nearest == "ceil"              ? std::ceil(x)
                  : mode.nearest == "round_prefer_ceil" ? std::floor(x + 0.5f)
                                                        : std::ceil(x - 0.5f);
  return std::clamp<int64_t>(static_cast<int64_t>(nearest), 0, in - 1);
}

/// Returns the triangle kernel, or the cubic convolution kernel of Keys.
float AxisResize::getKernel(float distance) const {
  float d = std::abs(distance), a = mode.cubicCoefficient;
  if (mode.mode == "linear")
    return std::max(1 - d, 0.0f);
  if (d <= 1)
    return ((a + 2) * d - (a + 3)) * d * d + 1;
  return d < 2 ? ((a * d - 5 * a) * d + 8 * a) * d - 4 * a : 0;
}

/// With antialiasing, downsampling widens the kernel to the spacing of result positions.
void AxisResize::addNeighbours(float x, MutableArrayRef<float> weights) const {
  float factor = mode.isAntialiased ? std::min(scale, 1.0f) : 1, sum = 0;
  float reach = (mode.mode == "linear" ? 1 : 2) / factor;
  auto first = static_cast<int64_t>(std::floor(x - reach)) + 1;
  auto last = static_cast<int64_t>(std::ceil(x + reach)) - 1;
  for (int64_t i = first; i <= last; ++i) {
    if (mode.excludesOutside && (i < 0 || i >= in))
      continue;
    float weight = getKernel((x - i) * factor);
    weights[std::clamp<int64_t>(i, 0, in - 1)] += weight;
    sum += weight;
  }
  for (float &weight : weights)
    weight /= sum;
}

SmallVector<float> AxisResize::getWeights(int64_t position) const {
  SmallVector<float> weights(in, 0.0f);
  if (isOutside(position))
    return weights;
  float x = getCoordinate(position);
  if (mode.mode == "nearest")
    weights[getNearest(x)] = 1;
  else
    addNeighbours(x, weights);
  return weights;
}
