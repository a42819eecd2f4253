//===- Accesses.h - memory that blocks read and write -----------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_DIALECT_BGPU_TRANSFORMS_ACCESSES_H
#define BPPSA_LIB_DIALECT_BGPU_TRANSFORMS_ACCESSES_H

#include "bppsa/Dialect/BGPU/IR/BGPU.h"
#include <optional>

namespace bppsa::bgpu {

/// Threads that have to wait for each other between two accesses.
enum class Scope { None, Warp, Block };

/// What the threads of a block read or write of an array.
struct Access {
  /// The array of which all views are; null for any memory.
  mlir::Value array;
  bool writes;
  /// Which thread has which elements. None where any thread may have any element.
  struct Owners {
    /// A row of the tile, whose element number i is that of thread i, and the rows of the array
    /// that the tile is: [first, last).
    llvm::SmallVector<int64_t, 2> row;
    int64_t first, last;
    bool operator==(const Owners &other) const {
      return row == other.row && first == other.first && last == other.last;
    }
  };
  std::optional<Owners> owners;
  /// Which of the slots of `array`, its dimension `dim`, that is: number `index` + `offset`, of
  /// `count` that are used by turns, or of any number where that is 0. None where that may be any
  /// of them.
  struct Slot {
    mlir::Value index;
    int64_t offset, count, dim = 0;
    bool operator==(const Slot &other) const {
      return index == other.index && offset == other.offset && isLike(other);
    }
    /// Whether the other slot is never the same one, where the indices are equal.
    bool differsFrom(const Slot &other) const {
      int64_t distance = offset - other.offset;
      return index == other.index && isLike(other) && (count ? distance % count : distance) != 0;
    }

  private:
    bool isLike(const Slot &other) const { return count == other.count && dim == other.dim; }
  };
  std::optional<Slot> slot = std::nullopt;
  /// Whether each warp has elements of its own: its number is their first index in `array`.
  bool ofWarp = false;
  /// The results of `memref.distinct_objects` that it is a part of.
  llvm::SmallVector<mlir::Value, 2> objects = {};
  /// Whether it is an asynchronous copy, for which a `bgpu.wait` waits: it may not begin before
  /// what it overwrites is read, but nothing behind it waits for the copy itself.
  bool isCopy = false;

  bool operator==(const Access &other) const {
    return array == other.array && writes == other.writes && owners == other.owners &&
           slot == other.slot && ofWarp == other.ofWarp && objects == other.objects &&
           isCopy == other.isCopy;
  }
  /// Those of which one may touch an element that another one touches in `other`, where one of them
  /// writes.
  Scope findConflict(const Access &other) const;
};

/// The accesses of `op`, which is in a kernel: those of its body, too. Fails after a diagnostic
/// where an operation has effects that nobody knows.
llvm::FailureOr<llvm::SmallVector<Access>> getAccesses(mlir::Operation *op);

} // namespace bppsa::bgpu

#endif // BPPSA_LIB_DIALECT_BGPU_TRANSFORMS_ACCESSES_H
