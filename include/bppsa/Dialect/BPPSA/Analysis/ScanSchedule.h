//===- ScanSchedule.h - operations of a scan plan ---------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// Lists the products of a plan for a known n in the order of ScanOrder.h, without IR. A cotangent
// chain is the exclusive scan of the n + 1 elements
//   a[0] = the seed, a vector;   a[k] = the matrix of the k-th link, 1 <= k <= n
// with the operator `left <> right = right * left`: the left operand is applied first.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_DIALECT_BPPSA_ANALYSIS_SCANSCHEDULE_H
#define BPPSA_DIALECT_BPPSA_ANALYSIS_SCANSCHEDULE_H

#include "bppsa/Dialect/BPPSA/Analysis/ScanOrder.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include <cstdint>
#include <optional>
#include <vector>

namespace bppsa {

class PlanAttr;

/// Value 0 is the seed, k the matrix of the k-th link, larger numbers are results. Each value is
/// written once.
struct ScanOperation {
  enum class Kind {
    Compose, ///< out = right * left, two matrices
    Apply,   ///< out = right * left, left is a vector
    Copy,    ///< out = left: product with the identity
  };
  Kind kind;
  int64_t left;
  /// -1 for a copy.
  int64_t right;
  int64_t out;
};

struct ScanLevel {
  Sweep sweep;
  std::vector<ScanOperation> operations;
};

/// Operations for a known number of links. Every result is used.
class ScanSchedule {
public:
  static ScanSchedule getLinear(int64_t numLinks, bool withInitial);
  /// Returns the modified Blelloch scan of the BPPSA paper.
  static ScanSchedule getBlelloch(int64_t numLinks, bool withInitial);
  /// Returns `numLevels` levels of up-sweep and down-sweep, and a linear scan over the roots.
  static ScanSchedule getHybrid(int64_t numLinks, int64_t numLevels, bool withInitial);
  static ScanSchedule getChunked(int64_t numLinks, int64_t chunkSize, bool withInitial,
                                 FirstChunk first = FirstChunk::Vector);
  /// Returns nullopt if the plan leaves the chunk size to the run time.
  static std::optional<ScanSchedule> get(PlanAttr plan, int64_t numLinks, bool withInitial,
                                         FirstChunk first = FirstChunk::Vector);

  llvm::ArrayRef<ScanLevel> getLevels() const { return levels; }
  int64_t getNumLinks() const { return numLinks; }
  int64_t getNumValues() const { return numValues; }
  /// Returns the value that enters link `link`, 1 <= link <= n.
  int64_t getEntering(int64_t link) const { return entering[link]; }
  /// Returns the cotangent of the initial state; requires `withInitial`.
  int64_t getInitial() const { return initial; }

  int64_t count(ScanOperation::Kind kind) const;
  int64_t count(Sweep sweep, ScanOperation::Kind kind) const;
  /// Counts products on the longest path; copies are free.
  int64_t getDepth() const;

private:
  class TreeEmitter;
  class ChunkEmitter;

  explicit ScanSchedule(int64_t numLinks);

  /// Returns the result of the new operation.
  int64_t emit(ScanOperation::Kind kind, int64_t left, int64_t right, size_t level, Sweep sweep);
  /// `withInitial` adds the application of the last link.
  void finish(bool withInitial);

  int64_t numLinks;
  int64_t numValues;
  int64_t initial = -1;
  std::vector<ScanLevel> levels;
  std::vector<int64_t> entering;
};

} // namespace bppsa

#endif // BPPSA_DIALECT_BPPSA_ANALYSIS_SCANSCHEDULE_H
