//===- ColumnTilePlan.h - evaluation plan of a column tile ------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// In a column tile, matrices of transition columns replace the vectors of a link. Values that
// depend only on saved values have one element per row.
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
  /// Returns nullopt if column tiles cannot evaluate the link `body`.
  static std::optional<ColumnTilePlan> create(const CotangentLoop &loop, mlir::Block &body);

  /// Chooses the widest tiles that fit next to `otherBytes` of shared memory with `stages` copy
  /// stages. Returns null if none fit.
  GPUMappingAttr chooseMapping(const CotangentLoop &loop, mlir::Block &body, int64_t otherBytes,
                               int64_t stages, TensorPrecision precision) const;
  void setMapping(GPUMappingAttr mapping);

  /// True for one element per row and column, false for one per row.
  bool isColumnTile(mlir::Value value) const { return stages.contains(value); }
  /// Stages read shared column tiles only from earlier stages.
  int64_t getStage(mlir::Value value) const { return stages.lookup(value); }
  int64_t getNumStages() const;
  /// Column tiles whose elements are read by other threads.
  llvm::ArrayRef<mlir::Value> getShared() const { return shared.getArrayRef(); }

  int64_t getNumWarps() const { return numWarps; }
  /// Return the tiles for `rows` rows, in total and per warp. Slot i of warp w is tile `i * warps +
  /// w`.
  static int64_t getNumTiles(int64_t rows);
  int64_t getNumSlots(int64_t rows) const;
  /// Returns the width in tiles of 8 columns.
  int64_t getNumColumnTiles() const { return numColumnTiles; }
  /// True if threads keep matrices in registers for all steps.
  bool keepsMatrices() const { return inRegisters; }

private:
  bool computeStages(mlir::Block &body, mlir::ValueRange states);
  bool addOp(mlir::Operation &op);

  llvm::DenseMap<mlir::Value, int64_t> stages;
  llvm::SetVector<mlir::Value> shared;
  int64_t numWarps = 1, numColumnTiles = 1;
  bool inRegisters = false;
};

/// Returns the registers of a thread for its part of a left factor of a tensor-core product.
int64_t getNumFactorRegisters(TensorPrecision precision);

} // namespace bppsa

#endif // BPPSA_DIALECT_BGPU_ANALYSIS_COLUMNTILEPLAN_H
