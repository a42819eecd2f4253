//===- ScanSimulation.h - Algorithm 1 on 0/1 matrices -----------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// Algorithm 1 of the BPPSA paper, run on arrays of 0/1 matrices with the three nested loops of a
// matrix product.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_UNITTESTS_COSTMODEL_SCANSIMULATION_H
#define BPPSA_UNITTESTS_COSTMODEL_SCANSIMULATION_H

#include <algorithm>
#include <cstdint>
#include <map>
#include <vector>

namespace bppsa::test {

/// A matrix of zeros and ones; the identity is never multiplied.
struct Mask {
  int64_t rows = 0, cols = 0;
  std::vector<char> entries;
  bool isIdentity = false;

  bool isDiagonal() const {
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t j = 0; j < cols; ++j)
        if (entries[i * cols + j] != (i == j))
          return false;
    return rows == cols;
  }
};

struct Totals {
  int64_t composes = 0, applies = 0, flops = 0, criticalPath = 0, steps = 0, span = 0;
};

/// Runs the scan and records the operands of each value, so that unused products are not counted.
class Simulation {
public:
  explicit Simulation(std::vector<Mask> elements) {
    for (Mask &element : elements)
      nodes.push_back({std::move(element), -1, -1, -1, 0, false});
  }

  /// Runs with `numLevels` levels of the up-sweep.
  Totals run(int64_t numLevels) {
    int64_t n = int64_t(nodes.size()) - 1, height = 0;
    while ((int64_t(1) << height) < n + 1)
      ++height;
    numLevels = std::min(numLevels, height - 1);
    std::vector<int64_t> a(n + 1);
    for (int64_t i = 0; i <= n; ++i)
      a[i] = i;
    int64_t level = 0;
    for (int64_t d = 0; d < numLevels; ++d, ++level)
      for (int64_t i = 0; i <= n - (1 << d); i += int64_t(2) << d) {
        int64_t l = i + (1 << d) - 1, r = std::min(i + (int64_t(2) << d) - 1, n);
        a[r] = combine(a[l], a[r], level);
      }
    // The exclusive scan of the block roots; the total is stored at the end.
    int64_t prefix = -1;
    for (int64_t root = (1 << numLevels) - 1; root < n; root += 1 << numLevels, ++level) {
      int64_t total = combine(prefix, a[root], level);
      a[root] = prefix;
      prefix = total;
    }
    a[n] = prefix;
    for (int64_t d = numLevels - 1; d >= 0; --d, ++level)
      for (int64_t i = 0; i <= n - (1 << d); i += int64_t(2) << d) {
        int64_t l = i + (1 << d) - 1, r = std::min(i + (int64_t(2) << d) - 1, n);
        int64_t t = a[l];
        a[l] = a[r];
        a[r] = combine(a[r], t, level);
      }
    for (int64_t i = 1; i <= n; ++i)
      markNeeded(a[i]);
    return count();
  }

  /// Runs a chunked scan with `size` links per chunk; the first chunk has the seed.
  Totals runChunked(int64_t size) {
    int64_t n = int64_t(nodes.size()) - 1, level = 1000000;
    int64_t carry = 0;
    for (int64_t first = 1; first <= n; first += size) {
      int64_t last = std::min(first + size - 1, n);
      int64_t entering = carry, aggregate = first == 1 ? 0 : first;
      for (int64_t link = first; link <= last; ++link) {
        markNeeded(entering);
        if (link < last)
          entering = combine(entering, link, level++);
        if (first == 1 || link > first)
          aggregate = first == 1 ? (link < last ? entering : combine(entering, link, level++))
                                 : combine(aggregate, link, level++);
      }
      carry = first == 1 ? aggregate : combine(carry, aggregate, level++);
    }
    return count();
  }

private:
  struct Node {
    Mask mask;
    int64_t left, right, level, flops;
    bool isNeeded;
    int64_t finish = 0;
  };

  /// Computes left <> right = right * left; -1 is an identity that is never multiplied.
  int64_t combine(int64_t left, int64_t right, int64_t level) {
    if (left < 0)
      return right;
    const Mask &a = nodes[left].mask, &b = nodes[right].mask;
    Mask out{b.rows, a.cols, std::vector<char>(b.rows * a.cols, 0)};
    int64_t pairs = 0;
    for (int64_t i = 0; i < b.rows; ++i)
      for (int64_t k = 0; k < b.cols; ++k)
        for (int64_t j = 0; j < a.cols; ++j)
          if (b.entries[i * b.cols + k] && a.entries[k * a.cols + j]) {
            ++pairs;
            out.entries[i * a.cols + j] = 1;
          }
    if (a.isIdentity || b.isIdentity)
      pairs = 0;
    out.isIdentity = a.isIdentity && b.isIdentity;
    // Cotangents are always dense.
    if (a.cols == 1)
      std::fill(out.entries.begin(), out.entries.end(), 1);
    // Scaling by a diagonal needs no additions.
    int64_t flops = a.isDiagonal() || b.isDiagonal() ? pairs : 2 * pairs;
    int64_t finish = std::max(nodes[left].finish, nodes[right].finish) + flops;
    nodes.push_back({std::move(out), left, right, level, flops, false, finish});
    return nodes.size() - 1;
  }

  void markNeeded(int64_t node) {
    if (nodes[node].isNeeded)
      return;
    nodes[node].isNeeded = true;
    if (nodes[node].left >= 0) {
      markNeeded(nodes[node].left);
      markNeeded(nodes[node].right);
    }
  }

  Totals count() const {
    Totals totals;
    std::map<int64_t, int64_t> most;
    for (const Node &node : nodes) {
      if (!node.isNeeded || node.left < 0)
        continue;
      (node.mask.cols == 1 ? totals.applies : totals.composes) += 1;
      totals.flops += node.flops;
      totals.span = std::max(totals.span, node.finish);
      most[node.level] = std::max(most[node.level], node.flops);
    }
    for (auto [level, flops] : most)
      totals.criticalPath += flops;
    totals.steps = most.size();
    return totals;
  }

  std::vector<Node> nodes;
};

} // namespace bppsa::test

#endif // BPPSA_UNITTESTS_COSTMODEL_SCANSIMULATION_H
