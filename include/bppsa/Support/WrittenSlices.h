//===- WrittenSlices.h - disjointness of inserted slices --------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_SUPPORT_WRITTENSLICES_H
#define BPPSA_SUPPORT_WRITTENSLICES_H

#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include <map>
#include <optional>

namespace bppsa {

/// The slices inserted into one tensor, indexed by their intervals along each axis, so that a new
/// slice is compared only with its neighbours.
class WrittenSlices {
public:
  /// Returns whether `slice` is known to be disjoint from all added slices, based on static offsets
  /// and sizes.
  bool areDisjointWith(mlir::tensor::InsertSliceOp slice) const;
  void add(mlir::tensor::InsertSliceOp slice);

private:
  /// Slices with the same interval along an axis; `end` is exclusive.
  struct Group {
    int64_t end;
    llvm::SmallVector<mlir::tensor::InsertSliceOp, 1> slices;
  };
  /// Disjoint groups, keyed by the start of their interval. Nullopt if intervals overlap partially
  /// or are not static.
  using Groups = std::optional<std::map<int64_t, Group>>;

  template <typename Visit>
  static void visitOverlapping(const Groups &groups, int64_t begin, int64_t end, Visit visit);
  static void addToGroups(Groups &groups, mlir::tensor::InsertSliceOp slice, unsigned axis);

  llvm::SmallVector<mlir::tensor::InsertSliceOp> slices;
  llvm::SmallVector<Groups> axes;
};

} // namespace bppsa

#endif // BPPSA_SUPPORT_WRITTENSLICES_H
