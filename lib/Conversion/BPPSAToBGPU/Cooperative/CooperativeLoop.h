//===- CooperativeLoop.h - loops shared by several blocks -------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// If the matrices of a body do not fit into the registers of one block, several blocks share their
// rows and run a group of samples together. In all steps a warp has the same rows of every value
// and matrix, and all samples of the group. Its lanes hold columns of the matrices in registers and
// use each entry for several samples.
//
// Vectors that products read as a whole are double-buffered in device memory, with a barrier of the
// blocks of the group between writing and reading. All other values stay in registers, one row of
// one sample per lane, so every tile has 8 warps and 32 lanes.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_CONVERSION_BPPSATOBGPU_COOPERATIVE_COOPERATIVELOOP_H
#define BPPSA_LIB_CONVERSION_BPPSATOBGPU_COOPERATIVE_COOPERATIVELOOP_H

#include "../TimeLoops/RowTiles.h"
#include "../TimeLoops/StepSources.h"
#include "bppsa/Dialect/BGPU/Analysis/DeviceMapping.h"
#include "llvm/ADT/MapVector.h"

namespace bppsa {

/// The inputs and outputs of a loop: arrays `[step, sample, row]`, or `[sample, row]` for states.
struct LoopArrays {
  mlir::Value numSteps, numSamples;
  /// An array for each body argument except captures; null for states.
  llvm::SmallVector<mlir::Value> sources;
  /// An array for each yielded value; null if it is not stored. Arrays of states also contain the
  /// initial state.
  llvm::SmallVector<mlir::Value> outputs;
  /// The initial and final array of each state; final arrays may be null.
  llvm::SmallVector<mlir::Value> starts, ends;
  mlir::ValueRange captures;
  /// Maps a position of the loop to a step. `reverse` is set if steps descend.
  std::function<mlir::Value(mlir::OpBuilder &, mlir::Value position)> getStep;
  bool reverse;
};

class CooperativeLoop : private RowTiles {
public:
  /// Creates the loop for blocks with `mapping`. Fails with a diagnostic if they cannot run it.
  static llvm::FailureOr<CooperativeLoop> create(const LoopBody &loop, GPUMappingAttr mapping);

  void emit(mlir::OpBuilder &builder, const LoopArrays &loop);

private:
  /// The destination of the rows of a tile: an array of all samples, or exchange slots.
  struct Target {
    mlir::Value tile;
    Place place;
    bool isExchange;
  };
  using LaneBody = llvm::function_ref<llvm::SmallVector<mlir::Value>(
      mlir::OpBuilder &, mlir::ValueRange at, mlir::ValueRange elements)>;

  CooperativeLoop(BodyPlan plan, const LoopBody &loop, int64_t rowsOfWarp);
  /// The number of samples that a warp processes together, and the resulting number of sums per
  /// product.
  static constexpr int64_t kTile = cost::kCooperativeSamples;
  int64_t getSumsOfTile() const { return kTile * rowsOfWarp; }

  bool isState(mlir::Value value) const;
  bool isSource(mlir::Value value) const;
  /// Returns the number of loads in which the lanes of a warp read `vector` once.
  static int64_t countLoads(mlir::Value vector);
  void findExchanged();
  void countEntries();
  int64_t getMaxSamples() const;
  int64_t getRowsOfBlock() const;
  int64_t getNumBlocks() const;

  // Host code.
  void allocate(mlir::OpBuilder &builder);
  /// Returns the number of samples of a group if the blocks of `together` groups are resident at
  /// once.
  mlir::Value chooseSamples(mlir::OpBuilder &builder, mlir::Value together);

  // Kernel code.
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
  /// Loads the row and sample of each lane from `place`, which contains all samples.
  mlir::Value loadRows(mlir::OpBuilder &builder, const Place &place, int64_t rows);
  /// Stores the rows of lanes with a valid row (below `rows`) and sample.
  void storeRows(mlir::OpBuilder &builder, llvm::ArrayRef<Target> targets, int64_t rows);

  // Steps.
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

  // For the lane at a position: the first row of its warp; its row; the index of its sample within
  // the group; the slot of that sample, which may exceed the number of samples; the slot clamped to
  // the last sample; whether the lane has a sample.
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
  /// The offset of each value that all blocks read in the array `[2, sample, row]` of exchanged
  /// values. Zeros follow the last row of a value.
  llvm::MapVector<mlir::Value, int64_t> exchanged;
  /// Arguments of which each lane reads its own row.
  llvm::SmallVector<mlir::BlockArgument> sources;

  // State of the emitted launch.
  const LoopArrays *loop = nullptr;
  mlir::Value counters, vectors, numSamples;
  // State of the emitted block: its group, the first slot of the group, the number of sample tiles,
  // and its first row.
  mlir::Value group, firstSlot, numTiles, rowOfBlock;
  KernelArrays arrays;
  /// The alias of `vectors` for each exchanged value, and shared arrays for 32 sums each: `[warp,
  /// sum, tile, sample and row]`.
  llvm::DenseMap<mlir::Value, mlir::Value> exchangedIn;
  llvm::SmallVector<mlir::Value> sums;
  /// For each product, a tile of vectors with the matrix entries of each lane.
  llvm::DenseMap<mlir::Operation *, mlir::Value> matrices;
  // State of the current step: its position, the exchange buffers that are read and written, and
  // the barrier count so far.
  mlir::Value position, current, next, passed;
};

} // namespace bppsa

#endif // BPPSA_LIB_CONVERSION_BPPSATOBGPU_COOPERATIVE_COOPERATIVELOOP_H
