//===- PanelFunctions.h - what all packed products call ---------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_CODEGEN_CPU_PACKEDPRODUCTS_PANELFUNCTIONS_H
#define BPPSA_LIB_CODEGEN_CPU_PACKEDPRODUCTS_PANELFUNCTIONS_H

#include "Product.h"

namespace bppsa {

/// Calls of functions of `module`, which all products share.
class PanelFunctions {
public:
  PanelFunctions(mlir::ModuleOp module, mlir::Location loc, TileShape tile)
      : module(module), loc(loc), tile(tile) {}

  /// Steps of rows or lanes: entries `first` to `first + size` of a table of offsets.
  struct Steps {
    mlir::Value offsets, first, size;
  };

  /// Copies `source` at the sums of the offsets of steps and of terms to `panel`, from element
  /// `begin` on: `width` steps of each term side by side, with zeros for those that are missing.
  void pack(mlir::OpBuilder &builder, mlir::Value source, Steps steps, Steps terms,
            mlir::Value panel, mlir::Value begin, int64_t width, CopyChunk chunk) const;
  /// Sets `sums` to the product of the panel that begins at `begin` of `rowPanels` and of
  /// `lanePanel`.
  void multiply(mlir::OpBuilder &builder, mlir::Value rowPanels, mlir::Value begin,
                mlir::Value lanePanel, mlir::Value numTerms, mlir::Value sums) const;
  /// The same of rows that are read where they are (`Blocking::readsRowsInPlace`): `source` at the
  /// sums of the offsets of rows, of which those beyond the last one are the last one again, and of
  /// terms.
  void multiplyInPlace(mlir::OpBuilder &builder, mlir::Value source, Steps rows, Steps terms,
                       mlir::Value lanePanel, mlir::Value sums) const;
  /// Adds `sums` to `result` at the sums of the offsets of rows and lanes, of which `chunk` are
  /// neighbours.
  void add(mlir::OpBuilder &builder, mlir::Value sums, mlir::Value result, Steps rows, Steps lanes,
           int64_t chunk) const;

private:
  mlir::ModuleOp module;
  mlir::Location loc;
  TileShape tile;
};

} // namespace bppsa

#endif // BPPSA_LIB_CODEGEN_CPU_PACKEDPRODUCTS_PANELFUNCTIONS_H
