//===- ColumnTilePlan.h - how a column tile is walked -----------*- C++ -*-===//
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

#ifndef BPPSA_LIB_CONVERSION_BPPSATOGPU_TIMELOOPS_COLUMNTILEPLAN_H
#define BPPSA_LIB_CONVERSION_BPPSATOGPU_TIMELOOPS_COLUMNTILEPLAN_H

#include "../../Bodies/BodyPlan.h"
#include "../../Bodies/CotangentLoop.h"
#include "../Products/TensorTile.h"

namespace bppsa {

class ColumnTilePlan {
public:
  /// Plans `body`, the link of `loop`, for products of `tile`; `otherBytes` of shared
  /// memory are taken. None, and no diagnostic, where column tiles cannot evaluate it.
  static std::optional<ColumnTilePlan> create(const CotangentLoop &loop, mlir::Block &body,
                                              const TensorTile &tile, int64_t otherBytes);

  /// Whether `value` has a column for each of the column tile, not one for all.
  bool isColumnTile(mlir::Value value) const { return stages.contains(value); }
  /// What is computed in a stage needs column tiles in shared memory of those before alone.
  int64_t getStage(mlir::Value value) const { return stages.lookup(value); }
  int64_t getNumStages() const;
  /// ColumnTiles of which threads read elements of others.
  llvm::ArrayRef<mlir::Value> getShared() const { return shared.getArrayRef(); }

  int64_t getNumWarps() const { return shape.warps; }
  /// Tiles of a value of `rows` rows, and those of one warp: slot i of warp w is tile
  /// `i * warps + w`.
  static int64_t getNumTiles(int64_t rows);
  int64_t getNumSlots(int64_t rows) const;
  /// Columns of a column tile, in tiles.
  int64_t getNumColumnTiles() const { return shape.columnTiles; }
  /// Whether threads have their parts of matrices in registers, for all steps.
  bool keepsMatrices() const { return inRegisters; }

private:
  bool computeStages(mlir::Block &body, mlir::ValueRange states);
  bool addOp(mlir::Operation &op);
  bool chooseSizes(const CotangentLoop &loop, mlir::Block &body, const TensorTile &tile,
                   int64_t otherBytes);
  int64_t countMatrixRegisters(mlir::Block &body, const TensorTile &tile) const;

  llvm::DenseMap<mlir::Value, int64_t> stages;
  llvm::SetVector<mlir::Value> shared;
  cost::ColumnTileShape shape{};
  bool inRegisters = false;
};

} // namespace bppsa

#endif // BPPSA_LIB_CONVERSION_BPPSATOGPU_TIMELOOPS_COLUMNTILEPLAN_H
