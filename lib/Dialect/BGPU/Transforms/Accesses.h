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

enum class Scope { None, Warp, Block };

struct Access {
  /// Null for unknown memory.
  mlir::Value array;
  bool writes;
  /// Assignment of elements to threads; nullopt if arbitrary.
  struct Owners {
    /// Shape of a tile row, and the array rows [first, last) of the tile; thread i accesses element
    /// i.
    llvm::SmallVector<int64_t, 2> row;
    int64_t first, last;
    bool operator==(const Owners &other) const {
      return row == other.row && first == other.first && last == other.last;
    }
  };
  std::optional<Owners> owners;
  /// The slot along dimension `dim`: (`index` + `offset`) modulo `count` (no modulo if 0); nullopt
  /// if unknown.
  struct Slot {
    mlir::Value index;
    int64_t offset, count, dim = 0;
    bool operator==(const Slot &other) const {
      return index == other.index && offset == other.offset && isLike(other);
    }
    bool differsFrom(const Slot &other) const {
      int64_t distance = offset - other.offset;
      return index == other.index && isLike(other) && (count ? distance % count : distance) != 0;
    }

  private:
    bool isLike(const Slot &other) const { return count == other.count && dim == other.dim; }
  };
  std::optional<Slot> slot = std::nullopt;
  /// True if the warp number is the first index, so each warp accesses only its own elements.
  bool ofWarp = false;
  llvm::SmallVector<mlir::Value, 2> objects = {};
  /// True for an asynchronous copy. It must not start before its destination has been read;
  /// `bgpu.wait` completes it.
  bool isCopy = false;

  bool operator==(const Access &other) const {
    return array == other.array && writes == other.writes && owners == other.owners &&
           slot == other.slot && ofWarp == other.ofWarp && objects == other.objects &&
           isCopy == other.isCopy;
  }
  /// Returns the scope of the barrier needed between this access and `other`.
  Scope findConflict(const Access &other) const;
};

/// Returns the accesses of `op`, including its regions. Fails with a diagnostic if the effects of
/// an operation are unknown.
llvm::FailureOr<llvm::SmallVector<Access>> getAccesses(mlir::Operation *op);

} // namespace bppsa::bgpu

#endif // BPPSA_LIB_DIALECT_BGPU_TRANSFORMS_ACCESSES_H
