//===- CooperativeLoop.h - loops shared by several blocks -------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// Blocks share the rows of matrices too large for one block and run a group of samples together. A
// warp keeps the same rows in all steps; its lanes hold matrix columns. Vectors that products read
// are double-buffered in device memory with a barrier. Other values stay in registers, one row of
// one sample per lane, so tiles have 8 warps and 32 lanes.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_CONVERSION_BPPSATOBGPU_COOPERATIVE_COOPERATIVELOOP_H
#define BPPSA_LIB_CONVERSION_BPPSATOBGPU_COOPERATIVE_COOPERATIVELOOP_H

#include "../TimeLoops/RowTiles.h"
#include "../TimeLoops/StepSources.h"
#include "bppsa/Dialect/BGPU/Analysis/DeviceMapping.h"
#include "llvm/ADT/MapVector.h"

namespace bppsa {

/// Arrays are `[step, sample, row]`, or `[sample, row]` for states.
struct LoopArrays {
  mlir::Value numSteps, numSamples;
  /// One array per body argument except captures; null for states.
  llvm::SmallVector<mlir::Value> sources;
  /// One array per yielded value; null if not stored. State arrays include the initial state.
  llvm::SmallVector<mlir::Value> outputs;
  /// One array per state; final arrays may be null.
  llvm::SmallVector<mlir::Value> starts, ends;
  mlir::ValueRange captures;
  std::function<mlir::Value(mlir::OpBuilder &, mlir::Value position)> getStep;
  bool reverse;
};

class CooperativeLoop : private RowTiles {
public:
  /// Fails with a diagnostic if blocks with `mapping` cannot run the loop.
  static llvm::FailureOr<CooperativeLoop> create(const LoopBody &loop, GPUMappingAttr mapping);

  void emit(mlir::OpBuilder &builder, const LoopArrays &loop);

private:
  /// Destination of a tile: an array of all samples, or exchange slots.
  struct Target {
    mlir::Value tile;
    Place place;
    bool isExchange;
  };
  using LaneBody = llvm::function_ref<llvm::SmallVector<mlir::Value>(
      mlir::OpBuilder &, mlir::ValueRange at, mlir::ValueRange elements)>;

  CooperativeLoop(BodyPlan plan, const LoopBody &loop, int64_t rowsOfWarp);
  /// Samples that a warp processes together, and sums per product.
  static constexpr int64_t kTile = cost::kCooperativeSamples;
  int64_t getSumsOfTile() const { return kTile * rowsOfWarp; }

  bool isState(mlir::Value value) const;
  bool isSource(mlir::Value value) const;
  /// Counts the loads with which a warp reads `vector` once.
  static int64_t countLoads(mlir::Value vector);
  void findExchanged();
  void countEntries();
  int64_t getMaxSamples() const;
  int64_t getRowsOfBlock() const;
  int64_t getNumBlocks() const;

  void allocate(mlir::OpBuilder &builder);
  /// Requires that the blocks of `together` groups are resident.
  mlir::Value chooseSamples(mlir::OpBuilder &builder, mlir::Value together);

  void emitBlock(mlir::OpBuilder &builder, mlir::Value block, mlir::Value firstGroup);
  void separate(mlir::OpBuilder &builder);
  void allocateSums(mlir::OpBuilder &builder);
  void loadMatrices(mlir::OpBuilder &builder);
  mlir::Value loadMatrix(mlir::OpBuilder &builder, MatVecOp product);
  llvm::SmallVector<mlir::Value> start(mlir::OpBuilder &builder);
  llvm::SmallVector<mlir::Value> loadSources(mlir::OpBuilder &builder, mlir::Value position);
  void finish(mlir::OpBuilder &builder, mlir::ValueRange carried);
  void emitGroupBarrier(mlir::OpBuilder &builder);
  /// Returns the location of an exchanged value in buffer `copy`; nullopt for other values.
  std::optional<Place> findExchange(mlir::Value value, mlir::Value copy) const;
  /// `place` contains all samples.
  mlir::Value loadRows(mlir::OpBuilder &builder, const Place &place, int64_t rows);
  /// Stores existing rows (below `rows`) of existing samples.
  void storeRows(mlir::OpBuilder &builder, llvm::ArrayRef<Target> targets, int64_t rows);

  llvm::SmallVector<mlir::Value> emitStep(mlir::OpBuilder &builder, mlir::Value atPosition,
                                          mlir::ValueRange carried);
  void emitUnit(mlir::OpBuilder &builder, const RowUnit &unit);
  void storeUnit(mlir::OpBuilder &builder, const RowUnit &unit);
  void emitSums(mlir::OpBuilder &builder, const RowUnit &unit);
  llvm::SmallVector<mlir::Value> addProducts(mlir::OpBuilder &builder, const RowUnit &unit,
                                             mlir::Value firstSample);
  llvm::SmallVector<mlir::Value> accumulate(mlir::OpBuilder &builder, const RowUnit &unit,
                                            mlir::Value firstSample, mlir::Value lane,
                                            mlir::ValueRange matrices);
  void storeSums(mlir::OpBuilder &builder, const RowUnit &unit, mlir::ValueRange parts,
                 mlir::Value tile);

  llvm::SmallVector<mlir::Value> forEachLane(mlir::OpBuilder &builder, mlir::ValueRange ofLanes,
                                             mlir::TypeRange elements, LaneBody laneBody) const;
  llvm::SmallVector<mlir::Value> forEachPosition(mlir::OpBuilder &builder, mlir::Location loc,
                                                 int64_t rows, mlir::ValueRange ofPositions,
                                                 mlir::TypeRange elements,
                                                 RowBody rowBody) const override;
  mlir::RankedTensorType getTileType(mlir::Value value) const override;
  mlir::Value loadArgument(mlir::OpBuilder &builder, mlir::BlockArgument argument) override;
  ReadRow shareRows(mlir::OpBuilder &builder, mlir::Value value) override;

  // Properties of a lane: first row of its warp; its row; sample in the group; slot of the sample,
  // possibly too large; the slot clamped; whether the sample exists.
  mlir::Value getFirstRow(mlir::OpBuilder &builder, mlir::ValueRange at) const;
  mlir::Value getRow(mlir::OpBuilder &builder, mlir::ValueRange at) const;
  mlir::Value getNumber(mlir::OpBuilder &builder, mlir::ValueRange at) const;
  mlir::Value getSlot(mlir::OpBuilder &builder, mlir::ValueRange at) const;
  mlir::Value getSample(mlir::OpBuilder &builder, mlir::ValueRange at) const;
  mlir::Value hasSample(mlir::OpBuilder &builder, mlir::ValueRange at) const;

  mlir::Location loc;
  size_t firstState, numStates;
  int64_t rowsOfWarp, numRows = 1, maxSums = 1, rowsOfVectors = 0;
  int64_t numEntries = 0;
  /// Offset of each exchanged value in `[2, sample, row]`; zeros follow its last row.
  llvm::MapVector<mlir::Value, int64_t> exchanged;
  /// Arguments of which a lane reads its own row.
  llvm::SmallVector<mlir::BlockArgument> sources;

  const LoopArrays *loop = nullptr;
  mlir::Value counters, vectors, numSamples;
  // Group of the block, its first slot, its sample tiles and its first row.
  mlir::Value group, firstSlot, numTiles, rowOfBlock;
  KernelArrays arrays;
  /// Alias of `vectors` for each exchanged value; shared arrays for 32 sums: `[warp, sum, tile,
  /// sample and row]`.
  llvm::DenseMap<mlir::Value, mlir::Value> exchangedIn;
  llvm::SmallVector<mlir::Value> sums;
  /// Tile with the matrix entries of each lane, by product.
  llvm::DenseMap<mlir::Operation *, mlir::Value> matrices;
  mlir::Value position, current, next, passed;
};

} // namespace bppsa

#endif // BPPSA_LIB_CONVERSION_BPPSATOBGPU_COOPERATIVE_COOPERATIVELOOP_H
