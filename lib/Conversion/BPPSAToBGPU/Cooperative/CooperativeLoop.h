//===- CooperativeLoop.h - blocks that share the rows of a loop -*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// Where the matrices of a body do not fit into the registers of one block, their
// rows are shared out to several, which run a group of samples together. A warp
// has the same rows of every value and matrix for all steps, and all samples of
// the group: its lanes have columns of the matrices in registers, and use each for
// several samples. What products read as a whole is in device memory, twice, and a
// barrier of the group's blocks stands between writing and reading it. Everything
// else stays in registers: a lane has one row of one sample. So all tiles are of
// 8 warps and 32 lanes.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_CONVERSION_BPPSATOBGPU_COOPERATIVE_COOPERATIVELOOP_H
#define BPPSA_LIB_CONVERSION_BPPSATOBGPU_COOPERATIVE_COOPERATIVELOOP_H

#include "../TimeLoops/RowTiles.h"
#include "../TimeLoops/StepSources.h"
#include "bppsa/Dialect/BGPU/Analysis/DeviceMapping.h"
#include "llvm/ADT/MapVector.h"

namespace bppsa {

/// What a loop reads and writes: arrays `[step, sample, row]`, or of states `[sample, row]`.
struct LoopArrays {
  mlir::Value numSteps, numSamples;
  /// Of each argument of the body that is no capture; null for states.
  llvm::SmallVector<mlir::Value> sources;
  /// Of each value that it yields; null for none. Those of states have the one before the first
  /// step, too.
  llvm::SmallVector<mlir::Value> outputs;
  /// Of each state: before the first step, and behind the last one; null for none.
  llvm::SmallVector<mlir::Value> starts, ends;
  mlir::ValueRange captures;
  /// The step at a position of the loop, and whether it goes from the last one to the first.
  std::function<mlir::Value(mlir::OpBuilder &, mlir::Value position)> getStep;
  bool reverse;
};

class CooperativeLoop : private RowTiles {
public:
  /// For `loop` and blocks of `mapping`. Fails after a diagnostic where these cannot run it.
  static llvm::FailureOr<CooperativeLoop> create(const LoopBody &loop, GPUMappingAttr mapping);

  /// Emits the kernels of the whole loop.
  void emit(mlir::OpBuilder &builder, const LoopArrays &loop);

private:
  /// Where the rows of a tile go, of all samples, or slots where blocks exchange them.
  struct Target {
    mlir::Value tile;
    Place place;
    bool isExchange;
  };
  using LaneBody = llvm::function_ref<llvm::SmallVector<mlir::Value>(
      mlir::OpBuilder &, mlir::ValueRange at, mlir::ValueRange elements)>;

  CooperativeLoop(BodyPlan plan, const LoopBody &loop, int64_t rowsOfWarp);
  /// Samples that a warp multiplies its rows with at a time, and the sums of a product that it has
  /// then.
  static constexpr int64_t kTile = cost::kCooperativeSamples;
  int64_t getSumsOfTile() const { return kTile * rowsOfWarp; }

  bool isState(mlir::Value value) const;
  bool isSource(mlir::Value value) const;
  /// Loads of the lanes of a warp that read `vector` once.
  static int64_t countLoads(mlir::Value vector);
  void findExchanged();
  void countEntries();
  int64_t getMaxSamples() const;
  int64_t getRowsOfBlock() const;
  int64_t getNumBlocks() const;

  // The host.
  void allocate(mlir::OpBuilder &builder);
  /// Samples of a group, where blocks of `together` groups are held at a time.
  mlir::Value chooseSamples(mlir::OpBuilder &builder, mlir::Value together);

  // The kernel.
  void emitBlock(mlir::OpBuilder &builder, mlir::Value block, mlir::Value firstGroup);
  void separate(mlir::OpBuilder &builder);
  void allocateSums(mlir::OpBuilder &builder);
  void loadMatrices(mlir::OpBuilder &builder);
  mlir::Value loadMatrix(mlir::OpBuilder &builder, MatVecOp product);
  llvm::SmallVector<mlir::Value> start(mlir::OpBuilder &builder);
  llvm::SmallVector<mlir::Value> loadSources(mlir::OpBuilder &builder, mlir::Value position);
  void finish(mlir::OpBuilder &builder, mlir::ValueRange carried);
  void awaitGroup(mlir::OpBuilder &builder);
  /// Where all blocks read an exchanged value, of `copy`; null for others.
  std::optional<Place> findExchange(mlir::Value value, mlir::Value copy) const;
  /// Each lane loads its row and sample of `place`, which has all samples.
  mlir::Value loadRows(mlir::OpBuilder &builder, const Place &place, int64_t rows);
  /// The lanes that have a row of so many, and a sample, store it.
  void storeRows(mlir::OpBuilder &builder, llvm::ArrayRef<Target> targets, int64_t rows);

  // A step.
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

  // Of the lane at a position: the first row of its warp and its row; the number of its sample in
  // the group, and as a slot of those of all groups, which may be beyond the last; that or the
  // last; whether it has one.
  mlir::Value getFirstRow(mlir::OpBuilder &builder, mlir::ValueRange at) const;
  mlir::Value getRow(mlir::OpBuilder &builder, mlir::ValueRange at) const;
  mlir::Value getNumber(mlir::OpBuilder &builder, mlir::ValueRange at) const;
  mlir::Value getSlot(mlir::OpBuilder &builder, mlir::ValueRange at) const;
  mlir::Value getSample(mlir::OpBuilder &builder, mlir::ValueRange at) const;
  mlir::Value hasSample(mlir::OpBuilder &builder, mlir::ValueRange at) const;

  mlir::Location loc;
  size_t firstState, numStates;
  int64_t rowsOfWarp, numRows = 1, maxSums = 1, rowsOfVectors = 0;
  /// Entries of matrices that a lane has.
  int64_t numEntries = 0;
  /// The first rows of values that all blocks read, in an array `[2, sample, row]` with those of
  /// the others; zeros follow the last one.
  llvm::MapVector<mlir::Value, int64_t> exchanged;
  /// Arguments whose own rows are read.
  llvm::SmallVector<mlir::BlockArgument> sources;

  // Of the launch that is emitted.
  const LoopArrays *loop = nullptr;
  mlir::Value counters, vectors, numSamples;
  // Of its block: its group, the first slot of that, and tiles of samples that it has; its first
  // row.
  mlir::Value group, firstSlot, numTiles, rowOfBlock;
  KernelArrays arrays;
  /// `vectors` as what each exchanged value is in, and sums of 32 lanes: `[warp, sum, tile, sample
  /// and row]`.
  llvm::DenseMap<mlir::Value, mlir::Value> exchangedIn;
  llvm::SmallVector<mlir::Value> sums;
  /// The entries that a lane has of the matrix of each product, a tile of vectors.
  llvm::DenseMap<mlir::Operation *, mlir::Value> matrices;
  // Of the step: the copy of exchanged values that is read, and the other one; and the count at
  // which the last barrier ended.
  mlir::Value position, current, next, passed;
};

} // namespace bppsa

#endif // BPPSA_LIB_CONVERSION_BPPSATOBGPU_COOPERATIVE_COOPERATIVELOOP_H
