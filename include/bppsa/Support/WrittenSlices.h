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

/// Slices inserted into one tensor, indexed by intervals along each axis, so that a new slice is
/// compared only with neighbours.
class WrittenSlices {
public:
  bool areDisjointWith(mlir::tensor::InsertSliceOp slice) const;
  void add(mlir::tensor::InsertSliceOp slice);

private:
  /// Slices with the same interval along an axis; `end` is exclusive.
  struct Group {
    int64_t end;
    llvm::SmallVector<mlir::tensor::InsertSliceOp, 1> slices;
  };
  /// Disjoint, keyed by start. Nullopt if intervals overlap partially or are not static.
  using Groups = std::optional<std::map<int64_t, Group>>;

  template <typename Visit>
  static void visitOverlapping(const Groups &groups, int64_t begin, int64_t end, Visit visit);
  static void addToGroups(Groups &groups, mlir::tensor::InsertSliceOp slice, unsigned axis);

  llvm::SmallVector<mlir::tensor::InsertSliceOp> slices;
  llvm::SmallVector<Groups> axes;
};

} // namespace bppsa

#endif // BPPSA_SUPPORT_WRITTENSLICES_H
