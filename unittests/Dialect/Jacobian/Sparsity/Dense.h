//===- Dense.h - naive dense matrices ---------------------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_UNITTESTS_DIALECT_JACOBIAN_SPARSITY_DENSE_H
#define BPPSA_UNITTESTS_DIALECT_JACOBIAN_SPARSITY_DENSE_H

#include "bppsa/Dialect/Jacobian/Sparsity/SparsityPattern.h"
#include <random>

namespace bppsa::test {

/// A naive row-major matrix.
struct Dense {
  int64_t rows, cols;
  std::vector<int64_t> values;

  Dense(int64_t rows, int64_t cols) : rows(rows), cols(cols), values(rows * cols, 0) {}
  int64_t &operator()(int64_t row, int64_t col) { return values[row * cols + col]; }
  int64_t operator()(int64_t row, int64_t col) const { return values[row * cols + col]; }
  bool operator==(const Dense &other) const {
    return rows == other.rows && cols == other.cols && values == other.values;
  }
};

/// Returns ones at the entries of `pattern`.
inline Dense toDense(const SparsityPattern &pattern) {
  Dense result(pattern.getNumRows(), pattern.getNumCols());
  for (int64_t row = 0; row < result.rows; ++row)
    for (int32_t col : pattern.getRow(row))
      result(row, col) = 1;
  return result;
}

/// Returns a random pattern that includes empty and repeated rows.
inline SparsityPattern makeRandom(std::mt19937 &random, int64_t rows, int64_t cols) {
  std::vector<std::vector<int32_t>> kinds(1 + random() % 4);
  for (std::vector<int32_t> &kind : kinds)
    for (int32_t col = 0; col < cols; ++col)
      if (random() % 3 == 0)
        kind.push_back(col);
  PatternBuilder builder(rows, cols);
  for (int64_t row = 0; row < rows; ++row)
    builder.addRow(kinds[random() % kinds.size()]);
  return builder.take();
}

inline int64_t makeSize(std::mt19937 &random) { return 1 + random() % 9; }

} // namespace bppsa::test

#endif // BPPSA_UNITTESTS_DIALECT_JACOBIAN_SPARSITY_DENSE_H
