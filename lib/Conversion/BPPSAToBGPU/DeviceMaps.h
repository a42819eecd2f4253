//===- DeviceMaps.h - transitions in device memory --------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_CONVERSION_BPPSATOBGPU_DEVICEMAPS_H
#define BPPSA_LIB_CONVERSION_BPPSATOBGPU_DEVICEMAPS_H

#include "../../Codegen/GPU/Place.h"
#include "bppsa/Dialect/BPPSA/Analysis/CotangentLoop.h"

namespace bppsa {

/// The transition g -> A g + s of one sample, `[column, row]` after the indices `prefix`: the
/// columns of A, then s if cotangents are injected. By rows, it is `[row, column]`.
struct DeviceMap : AffineMapLayout {
  mlir::Value memref;
  llvm::SmallVector<mlir::Value, 2> prefix;

  Place getColumn(mlir::Value column) const;
  mlir::Value load(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value column,
                   mlir::Value row) const;
};

/// Emits row `row` of `A from + s`. No thread of the block may write `from` concurrently.
mlir::Value emitApply(mlir::OpBuilder &builder, mlir::Location loc, const DeviceMap &map,
                      const Place &from, mlir::Value row);

/// Emits row `row` of the composition of `first` and then `second` to `target`, which may be
/// `second`: a row of the product needs only the same row of `second`, which the thread copies
/// first.
void emitComposedRow(mlir::OpBuilder &builder, mlir::Location loc, const DeviceMap &first,
                     const DeviceMap &second, const DeviceMap &target, mlir::Value row);

/// A row of a transition and the vector that it multiplies, in registers.
struct MapRow {
  llvm::SmallVector<mlir::Value> entries, factors;
  /// The element of s, or null.
  mlir::Value offset;

  /// Loads row `row` of a small contiguous transition at `map`, and `from`.
  static MapRow load(mlir::OpBuilder &builder, mlir::Location loc, const AffineMapLayout &maps,
                     const Place &map, const Place &from, mlir::Value row);
  static int64_t countValues(const AffineMapLayout &maps) {
    return 2 * maps.getNumMatrixColumns() + (maps.hasOffset ? 1 : 0);
  }
  llvm::SmallVector<mlir::Value> getValues() const;
  static MapRow get(const AffineMapLayout &maps, mlir::ValueRange values);
  /// Emits the row of `A from + s` as an unrolled sum.
  mlir::Value apply(mlir::OpBuilder &builder, mlir::Location loc) const;
};

} // namespace bppsa

#endif // BPPSA_LIB_CONVERSION_BPPSATOBGPU_DEVICEMAPS_H
