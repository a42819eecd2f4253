//===- ScanSchedule.h - operations of a scan plan ---------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// A cotangent chain of n links is the exclusive scan of the n + 1 elements
//   a[0] = the seed, a vector;   a[k] = the matrix of the k-th link, 1 <= k <= n
// with the operator `left <> right = right * left`: the left operand is applied first. This file
// lists the products of a plan for a known n, in the order of ScanOrder.h. It does not depend on
// IR, so remarks, tests and cost models all use the same list.
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

/// One operation. Values are numbered: 0 is the seed, k is the matrix of the k-th link, and larger
/// numbers are results of operations. Each value is written once.
struct ScanOperation {
  enum class Kind {
    Compose, ///< out = right * left, two matrices
    Apply,   ///< out = right * left, left is a vector
    Copy,    ///< out = left: a product with the identity, which is never formed
  };
  Kind kind;
  int64_t left;
  /// -1 for a copy.
  int64_t right;
  int64_t out;
};

/// Operations that do not depend on each other.
struct ScanLevel {
  Sweep sweep;
  std::vector<ScanOperation> operations;
};

/// The operations of a plan for a known number of links. Every result is used.
class ScanSchedule {
public:
  static ScanSchedule getLinear(int64_t numLinks, bool withInitial);
  /// Returns the modified Blelloch scan of the BPPSA paper.
  static ScanSchedule getBlelloch(int64_t numLinks, bool withInitial);
  /// Returns the hybrid scan with up to `numLevels` levels of the up-sweep and down-sweep, and a
  /// linear scan over the roots of the remaining blocks.
  static ScanSchedule getHybrid(int64_t numLinks, int64_t numLevels, bool withInitial);
  /// Returns the chunked scan with chunks of `chunkSize` links.
  static ScanSchedule getChunked(int64_t numLinks, int64_t chunkSize, bool withInitial,
                                 FirstChunk first = FirstChunk::Vector);
  /// Returns the schedule of `plan`. Chunked plans handle their first chunk as `first` says.
  /// Returns nullopt if the plan leaves the chunk size to the run time.
  static std::optional<ScanSchedule> get(PlanAttr plan, int64_t numLinks, bool withInitial,
                                         FirstChunk first = FirstChunk::Vector);

  llvm::ArrayRef<ScanLevel> getLevels() const { return levels; }
  int64_t getNumLinks() const { return numLinks; }
  /// Returns one more than the largest value number.
  int64_t getNumValues() const { return numValues; }
  /// Returns the value that enters the `link`-th link, 1 <= link <= n.
  int64_t getEntering(int64_t link) const { return entering[link]; }
  /// Returns the value that leaves the last link, the cotangent of the initial state. Requires a
  /// schedule created with `withInitial`.
  int64_t getInitial() const { return initial; }

  int64_t count(ScanOperation::Kind kind) const;
  int64_t count(Sweep sweep, ScanOperation::Kind kind) const;
  /// Returns the number of products on the longest path. Copies are free.
  int64_t getDepth() const;

private:
  class TreeEmitter;
  class ChunkEmitter;

  explicit ScanSchedule(int64_t numLinks);

  /// Appends an operation to level `level`, which belongs to `sweep`, and returns its result.
  int64_t emit(ScanOperation::Kind kind, int64_t left, int64_t right, size_t level, Sweep sweep);
  /// Adds the application of the last link if `withInitial` is set.
  void finish(bool withInitial);

  int64_t numLinks;
  int64_t numValues;
  int64_t initial = -1;
  std::vector<ScanLevel> levels;
  std::vector<int64_t> entering;
};

} // namespace bppsa

#endif // BPPSA_DIALECT_BPPSA_ANALYSIS_SCANSCHEDULE_H
