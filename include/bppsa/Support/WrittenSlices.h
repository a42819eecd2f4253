//===- WrittenSlices.h - slices that are written into one tensor -*- C++ -*-===//
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

/// Slices that are written into one tensor, and where they lie along each axis, so that a new one
/// is compared with its neighbours rather than with all of them.
class WrittenSlices {
public:
  /// Whether no slice has an entry in common with `slice`, as far as static boxes tell.
  bool areDisjointWith(mlir::tensor::InsertSliceOp slice) const;
  void add(mlir::tensor::InsertSliceOp slice);

private:
  /// Slices of the same place along an axis, which ends before `end`.
  struct Group {
    int64_t end;
    llvm::SmallVector<mlir::tensor::InsertSliceOp, 1> slices;
  };
  /// Groups that do not overlap, by where they begin. Nothing where places overlap without being
  /// the same, or are not static.
  using Groups = std::optional<std::map<int64_t, Group>>;

  template <typename Visit>
  static void visitOverlapping(const Groups &groups, int64_t begin, int64_t end, Visit visit);
  static void addToGroups(Groups &groups, mlir::tensor::InsertSliceOp slice, unsigned axis);

  llvm::SmallVector<mlir::tensor::InsertSliceOp> slices;
  llvm::SmallVector<Groups> axes;
};

} // namespace bppsa

#endif // BPPSA_SUPPORT_WRITTENSLICES_H
