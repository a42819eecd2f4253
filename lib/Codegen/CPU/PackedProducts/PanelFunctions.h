//===- PanelFunctions.h - functions shared by packed products ---*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_CODEGEN_CPU_PACKEDPRODUCTS_PANELFUNCTIONS_H
#define BPPSA_LIB_CODEGEN_CPU_PACKEDPRODUCTS_PANELFUNCTIONS_H

#include "Product.h"

namespace bppsa {

/// Emits calls of functions that all products of `module` share.
class PanelFunctions {
public:
  PanelFunctions(mlir::ModuleOp module, mlir::Location loc, TileShape tile)
      : module(module), loc(loc), tile(tile) {}

  /// A range of rows or lanes: entries `first` to `first + size` of a table of offsets.
  struct Steps {
    mlir::Value offsets, first, size;
  };

  /// Copies elements of `source`, at the sums of the offsets of steps and terms, to `panel` from
  /// element `begin` on. Missing steps are zero.
  void pack(mlir::OpBuilder &builder, mlir::Value source, Steps steps, Steps terms,
            mlir::Value panel, mlir::Value begin, int64_t width, CopyChunk chunk) const;
  /// Sets `sums` to the product of the panel at `begin` of `rowPanels` and `lanePanel`.
  void multiply(mlir::OpBuilder &builder, mlir::Value rowPanels, mlir::Value begin,
                mlir::Value lanePanel, mlir::Value numTerms, mlir::Value sums) const;
  /// Same, for rows that are read in place (`Blocking::readsRowsInPlace`). Rows beyond the last
  /// repeat it.
  void multiplyInPlace(mlir::OpBuilder &builder, mlir::Value source, Steps rows, Steps terms,
                       mlir::Value lanePanel, mlir::Value sums) const;
  /// Adds `sums` to `result`, at the sums of the offsets of rows and lanes.
  void add(mlir::OpBuilder &builder, mlir::Value sums, mlir::Value result, Steps rows, Steps lanes,
           int64_t chunk) const;

private:
  mlir::ModuleOp module;
  mlir::Location loc;
  TileShape tile;
};

} // namespace bppsa

#endif // BPPSA_LIB_CODEGEN_CPU_PACKEDPRODUCTS_PANELFUNCTIONS_H
