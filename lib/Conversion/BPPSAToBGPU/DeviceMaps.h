//===- DeviceMaps.h - maps g -> A g + s in device memory --------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_CONVERSION_BPPSATOBGPU_DEVICEMAPS_H
#define BPPSA_LIB_CONVERSION_BPPSATOBGPU_DEVICEMAPS_H

#include "../../Codegen/GPU/Place.h"
#include "bppsa/Dialect/BPPSA/Analysis/CotangentLoop.h"

namespace bppsa {

/// One of these maps of one sample, `[column, row]` behind the indices `prefix`: the columns of A
/// and then, where cotangents are injected, s. By rows it is `[row, column]`.
struct DeviceMap : AffineMapLayout {
  mlir::Value memref;
  llvm::SmallVector<mlir::Value, 2> prefix;

  Place getColumn(mlir::Value column) const;
  /// Loads an entry of A.
  mlir::Value load(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value column,
                   mlir::Value row) const;
};

/// Row `row` of `A from + s`; `from` is a cotangent that no thread of the block writes meanwhile.
mlir::Value emitApply(mlir::OpBuilder &builder, mlir::Location loc, const DeviceMap &map,
                      const Place &from, mlir::Value row);

/// Row `row` of the map of first `first` and then `second`, into `target`, which may be `second`: a
/// row of a product needs that row of the second factor alone, which the thread keeps.
void emitComposedRow(mlir::OpBuilder &builder, mlir::Location loc, const DeviceMap &first,
                     const DeviceMap &second, const DeviceMap &target, mlir::Value row);

/// A row of a map, and what it multiplies, in registers.
struct MapRow {
  llvm::SmallVector<mlir::Value> entries, factors;
  /// The element of s, or null.
  mlir::Value offset;

  /// Loads row `row` of a small map that lies in `map` without gaps, and `from`.
  static MapRow load(mlir::OpBuilder &builder, mlir::Location loc, const AffineMapLayout &maps,
                     const Place &map, const Place &from, mlir::Value row);
  /// Registers of a row, and what is in them: entries, factors and, where there is one, the offset.
  static int64_t countValues(const AffineMapLayout &maps) {
    return 2 * maps.getNumMatrixColumns() + (maps.hasOffset ? 1 : 0);
  }
  llvm::SmallVector<mlir::Value> getValues() const;
  static MapRow get(const AffineMapLayout &maps, mlir::ValueRange values);
  /// The row of `A from + s`: the sum is written out.
  mlir::Value apply(mlir::OpBuilder &builder, mlir::Location loc) const;
};

} // namespace bppsa

#endif // BPPSA_LIB_CONVERSION_BPPSATOBGPU_DEVICEMAPS_H
