//===- ColumnTilePlan.h - how a column tile is run -----------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// A column tile is some columns of the map of one run of links: matrices of as many columns
// take the place of the vectors of a link. All columns see the same saved values, so
// what depends on these alone has one value for each row. Tiles of 16 rows are shared
// out to the warps of a block.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_DIALECT_BGPU_ANALYSIS_COLUMNTILEPLAN_H
#define BPPSA_DIALECT_BGPU_ANALYSIS_COLUMNTILEPLAN_H

#include "bppsa/CostModel/Machines/DeviceShapes.h"
#include "bppsa/Dialect/BPPSA/Analysis/BodyPlan.h"
#include "bppsa/Dialect/BPPSA/Analysis/CotangentLoop.h"

namespace bppsa {

class ColumnTilePlan {
public:
  /// Plans `body`, the link of `loop`. None, and no diagnostic, where column tiles cannot evaluate
  /// it.
  static std::optional<ColumnTilePlan> create(const CotangentLoop &loop, mlir::Block &body);

  /// The widest tiles that fit beside `otherBytes` of shared memory, and where threads have their
  /// parts of matrices; null where none fit. Copies have `stages`.
  GPUMappingAttr chooseMapping(const CotangentLoop &loop, mlir::Block &body, int64_t otherBytes,
                               int64_t stages, TensorPrecision precision) const;
  /// Shares tiles out as `mapping` says.
  void setMapping(GPUMappingAttr mapping);

  /// Whether `value` has a column for each of the column tile, not one for all.
  bool isColumnTile(mlir::Value value) const { return stages.contains(value); }
  /// What is computed in a stage needs column tiles in shared memory of those before alone.
  int64_t getStage(mlir::Value value) const { return stages.lookup(value); }
  int64_t getNumStages() const;
  /// ColumnTiles of which threads read elements of others.
  llvm::ArrayRef<mlir::Value> getShared() const { return shared.getArrayRef(); }

  int64_t getNumWarps() const { return numWarps; }
  /// Tiles of a value of `rows` rows, and those of one warp: slot i of warp w is tile
  /// `i * warps + w`.
  static int64_t getNumTiles(int64_t rows);
  int64_t getNumSlots(int64_t rows) const;
  /// Columns of a column tile, in tiles.
  int64_t getNumColumnTiles() const { return numColumnTiles; }
  /// Whether threads have their parts of matrices in registers, for all steps.
  bool keepsMatrices() const { return inRegisters; }

private:
  bool computeStages(mlir::Block &body, mlir::ValueRange states);
  bool addOp(mlir::Operation &op);

  llvm::DenseMap<mlir::Value, int64_t> stages;
  llvm::SetVector<mlir::Value> shared;
  int64_t numWarps = 1, numColumnTiles = 1;
  bool inRegisters = false;
};

/// Rows that products of tensor cores add up at a time, and registers that a thread needs for its
/// part of a left factor.
int64_t getNumFactorRegisters(TensorPrecision precision);

} // namespace bppsa

#endif // BPPSA_DIALECT_BGPU_ANALYSIS_COLUMNTILEPLAN_H
