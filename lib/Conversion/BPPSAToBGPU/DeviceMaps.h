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

/// Transition g -> A g + s of one sample, `[column, row]` after `prefix`: A, then s if cotangents
/// are injected. By rows, it is `[row, column]`.
struct DeviceMap : AffineMapLayout {
  mlir::Value memref;
  llvm::SmallVector<mlir::Value, 2> prefix;

  Place getColumn(mlir::Value column) const;
  mlir::Value load(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value column,
                   mlir::Value row) const;
};

/// Emits row `row` of `A from + s`. The block must not write `from` concurrently.
mlir::Value emitApply(mlir::OpBuilder &builder, mlir::Location loc, const DeviceMap &map,
                      const Place &from, mlir::Value row);

/// Emits row `row` of `first`, then `second`. `target` may be `second`: the thread first copies the
/// only row that it needs.
void emitComposedRow(mlir::OpBuilder &builder, mlir::Location loc, const DeviceMap &first,
                     const DeviceMap &second, const DeviceMap &target, mlir::Value row);

struct MapRow {
  llvm::SmallVector<mlir::Value> entries, factors;
  mlir::Value offset;

  /// The transition must be small and contiguous.
  static MapRow load(mlir::OpBuilder &builder, mlir::Location loc, const AffineMapLayout &maps,
                     const Place &map, const Place &from, mlir::Value row);
  static int64_t countValues(const AffineMapLayout &maps) {
    return 2 * maps.getNumMatrixColumns() + (maps.hasOffset ? 1 : 0);
  }
  llvm::SmallVector<mlir::Value> getValues() const;
  static MapRow get(const AffineMapLayout &maps, mlir::ValueRange values);
  mlir::Value apply(mlir::OpBuilder &builder, mlir::Location loc) const;
};

} // namespace bppsa

#endif // BPPSA_LIB_CONVERSION_BPPSATOBGPU_DEVICEMAPS_H
