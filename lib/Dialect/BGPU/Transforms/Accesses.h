//===- Accesses.h - memory accesses of blocks -------------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_DIALECT_BGPU_TRANSFORMS_ACCESSES_H
#define BPPSA_LIB_DIALECT_BGPU_TRANSFORMS_ACCESSES_H

#include "bppsa/Dialect/BGPU/IR/BGPU.h"
#include <optional>

namespace bppsa::bgpu {

/// The threads that must synchronize between two accesses.
enum class Scope { None, Warp, Block };

/// A read or write of an array by the threads of a block.
struct Access {
  /// The root array of the accessed view; null for unknown memory.
  mlir::Value array;
  bool writes;
  /// The assignment of elements to threads; nullopt if any thread may access any element.
  struct Owners {
    /// The shape of a tile row, and the rows [first, last) of the array that the tile covers.
    /// Thread i accesses tile element i.
    llvm::SmallVector<int64_t, 2> row;
    int64_t first, last;
    bool operator==(const Owners &other) const {
      return row == other.row && first == other.first && last == other.last;
    }
  };
  std::optional<Owners> owners;
  /// The slot of the array along dimension `dim`: (`index` + `offset`) modulo `count`, or without
  /// modulo if `count` is 0. Nullopt if any slot may be accessed.
  struct Slot {
    mlir::Value index;
    int64_t offset, count, dim = 0;
    bool operator==(const Slot &other) const {
      return index == other.index && offset == other.offset && isLike(other);
    }
    /// Returns true if two slots with equal indices are always different.
    bool differsFrom(const Slot &other) const {
      int64_t distance = offset - other.offset;
      return index == other.index && isLike(other) && (count ? distance % count : distance) != 0;
    }

  private:
    bool isLike(const Slot &other) const { return count == other.count && dim == other.dim; }
  };
  std::optional<Slot> slot = std::nullopt;
  /// True if each warp accesses only its own elements: the warp number is the first index into
  /// `array`.
  bool ofWarp = false;
  /// The results of `memref.distinct_objects` that the view is derived from.
  llvm::SmallVector<mlir::Value, 2> objects = {};
  /// True for an asynchronous copy, which a `bgpu.wait` completes. It must not start before its
  /// destination has been read, but later accesses do not wait for it.
  bool isCopy = false;

  bool operator==(const Access &other) const {
    return array == other.array && writes == other.writes && owners == other.owners &&
           slot == other.slot && ofWarp == other.ofWarp && objects == other.objects &&
           isCopy == other.isCopy;
  }
  /// Returns the scope of the barrier needed between this access and `other`: they may touch the
  /// same element from different threads, and one of them writes.
  Scope findConflict(const Access &other) const;
};

/// Returns the accesses of `op`, which is in a kernel, including its regions. Fails with a
/// diagnostic if the effects of an operation are unknown.
llvm::FailureOr<llvm::SmallVector<Access>> getAccesses(mlir::Operation *op);

} // namespace bppsa::bgpu

#endif // BPPSA_LIB_DIALECT_BGPU_TRANSFORMS_ACCESSES_H
