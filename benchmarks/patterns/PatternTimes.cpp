//===- PatternTimes.cpp - time to generate sparse Jacobians ---------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// pattern-times CHANNELS SIZE FEATURES: the transposed Jacobians of a 3x3
// convolution, a ReLU and a 2x2 max pool of an image of CHANNELS x SIZE x SIZE,
// each from the indexing maps of the layer to patterns with values. Prints a
// JSON object with the median time of each in microseconds, and its entries.
//
//===----------------------------------------------------------------------===//

#include "Layers.h"
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <random>

using namespace bppsa;
using namespace bppsa::test;

namespace {
/// A transposed Jacobian: a pattern, and a value for each entry.
struct SparseMatrix {
  SparsityPattern pattern;
  std::vector<float> values;
};
} // namespace

static std::vector<float> makeRandom(int64_t count) {
  std::mt19937 random(1);
  std::uniform_real_distribution<float> uniform(-1, 1);
  std::vector<float> result(count);
  for (float &value : result)
    value = uniform(random);
  return result;
}

/// Padding by one element: the rows that belong to it are left out.
static SparseMatrix makeConvolution(mlir::MLIRContext *context, int64_t channels, int64_t size,
                                    int64_t features, const std::vector<float> &weights) {
  Window window{size, 3, 1, 1, 1, 1};
  Layer layer = makeConv(context, 1, channels, features, window, window);
  SharedValues padded = *getSharedValues(layer.nest, layer.operand, layer.result, layer.factor);
  std::vector<int32_t> inner = getInner(channels, window, window);
  SparseMatrix result{padded.pattern.selectRows(inner), {}};
  result.values.reserve(result.pattern.getNumEntries());
  for (int32_t row : inner)
    for (int64_t e = padded.pattern.getRowStart(row); e < padded.pattern.getRowStart(row + 1); ++e)
      result.values.push_back(weights[padded.sources[e]]);
  return result;
}

static SparseMatrix makeRelu(mlir::MLIRContext *context, int64_t channels, int64_t size,
                             const std::vector<float> &image) {
  SparseMatrix result{getRelu(context, channels, size), std::vector<float>(image.size())};
  for (size_t i = 0; i < image.size(); ++i)
    result.values[i] = image[i] > 0;
  return result;
}

/// One entry of each column is one: that of the first largest element.
static SparseMatrix makeMaxPool(mlir::MLIRContext *context, int64_t channels, int64_t size,
                                const std::vector<float> &image) {
  SparseMatrix result{getPool2(context, channels, size), {}};
  std::vector<int64_t> best(result.pattern.getNumCols(), -1);
  for (int64_t row = 0; row < result.pattern.getNumRows(); ++row)
    for (int32_t col : result.pattern.getRow(row))
      if (best[col] < 0 || image[row] > image[best[col]])
        best[col] = row;
  for (int64_t row = 0; row < result.pattern.getNumRows(); ++row)
    for (int32_t col : result.pattern.getRow(row))
      result.values.push_back(best[col] == row);
  return result;
}

template <typename Make> static void report(const char *name, const char *end, Make make) {
  std::vector<double> times;
  int64_t entries = 0;
  for (int i = 0; i < 51; ++i) {
    auto begin = std::chrono::steady_clock::now();
    SparseMatrix matrix = make();
    std::chrono::duration<double, std::micro> time = std::chrono::steady_clock::now() - begin;
    times.push_back(time.count());
    entries = matrix.values.size();
  }
  std::nth_element(times.begin(), times.begin() + times.size() / 2, times.end());
  std::printf("\"%s\": {\"us\": %.2f, \"entries\": %lld}%s", name, times[times.size() / 2],
              static_cast<long long>(entries), end);
}

int main(int argc, char **argv) {
  if (argc != 4) {
    std::fprintf(stderr, "usage: %s CHANNELS SIZE FEATURES\n", argv[0]);
    return 2;
  }
  int64_t channels = std::atoll(argv[1]), size = std::atoll(argv[2]),
          features = std::atoll(argv[3]);
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  std::vector<float> image = makeRandom(channels * size * size);
  std::vector<float> weights = makeRandom(features * channels * 9);
  std::printf("{");
  report("conv", ", ",
         [&] { return makeConvolution(&context, channels, size, features, weights); });
  report("relu", ", ", [&] { return makeRelu(&context, channels, size, image); });
  report("max_pool", "}\n", [&] { return makeMaxPool(&context, channels, size, image); });
  return 0;
}
