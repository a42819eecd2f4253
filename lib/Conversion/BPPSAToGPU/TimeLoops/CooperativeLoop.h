//===- CooperativeLoop.h - blocks that share the rows of a loop --------*- C++ -*-===//
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
// else stays in registers: a lane has one row of one sample.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_CONVERSION_BPPSATOGPU_TIMELOOPS_COOPERATIVELOOP_H
#define BPPSA_LIB_CONVERSION_BPPSATOGPU_TIMELOOPS_COOPERATIVELOOP_H

#include "../Steps/RowEvaluator.h"
#include "bppsa/Dialect/BPPSA/Analysis/DeviceMapping.h"
#include "llvm/ADT/MapVector.h"
#include <functional>

namespace bppsa {

/// What a grid runs: where the arguments and results of the body are at a position.
struct GridLoop {
  using Places = llvm::SmallVector<Place, 2>;

  mlir::Operation *op;
  mlir::Value numSteps, numSamples;
  /// Of an argument that is no state.
  std::function<Place(mlir::OpBuilder &, unsigned argument, mlir::Value position,
                      mlir::Value sample)>
      getSource;
  /// Where a yielded value goes; states are kept anyway.
  std::function<Places(mlir::OpBuilder &, unsigned result, mlir::Value position,
                       mlir::Value sample)>
      getTargets;
  /// Where a state is before the first step, and where it also goes then; where it goes
  /// after the last one.
  std::function<Place(mlir::OpBuilder &, unsigned state, mlir::Value sample)> getStart;
  std::function<Places(mlir::OpBuilder &, unsigned state, mlir::Value sample)> getStartCopies,
      getEnds;
};

class CooperativeLoop : private RowEvaluator {
public:
  /// For `loop`, the last arguments of which stand for `captures`, and blocks of `mapping`. Fails
  /// after a diagnostic where these cannot run it.
  static llvm::FailureOr<CooperativeLoop> create(const LoopBody &loop, mlir::ValueRange captures,
                                                 GPUMappingAttr mapping);

  /// Emits the launches of the whole loop.
  void launch(mlir::OpBuilder &builder, const GridLoop &loop);

private:
  /// The rows of a value that all blocks read, in an array `[2, sample, row]` with those
  /// of the others; zeros follow the last one.
  struct Exchange {
    int64_t rows, first;
  };

  CooperativeLoop(BodyPlan plan, const LoopBody &loop, mlir::ValueRange captures,
                  int64_t rowsOfWarp);
  /// Samples that a warp multiplies its rows with at a time.
  static constexpr int64_t kTile = cost::cooperativeSamples;

  bool isState(mlir::Value value) const;
  bool isSource(mlir::Value value) const;
  void findExchanged();
  void countEntries();
  int64_t getMostSamples() const;
  int64_t getRowsOfBlock() const;

  void allocate(mlir::OpBuilder &builder);
  /// Samples of a group, where blocks of `together` groups are held at a time.
  mlir::Value chooseSamples(mlir::OpBuilder &builder, mlir::Value together);
  void emitThread(mlir::OpBuilder &builder, const LaunchedThread &thread, mlir::Value firstGroup);
  void loadMatrices(mlir::OpBuilder &builder);
  llvm::SmallVector<mlir::Value> start(mlir::OpBuilder &builder);
  llvm::SmallVector<mlir::Value> loadSources(mlir::OpBuilder &builder, mlir::Value position);
  llvm::SmallVector<mlir::Value> emitStep(mlir::OpBuilder &builder, mlir::Value atPosition,
                                          mlir::ValueRange carried);
  void emitUnit(mlir::OpBuilder &builder, const RowUnit &unit);
  void storeUnit(mlir::OpBuilder &builder, const RowUnit &unit);
  void finish(mlir::OpBuilder &builder, mlir::ValueRange carried);
  void awaitGroup(mlir::OpBuilder &builder);

  void emitSums(mlir::OpBuilder &builder, const RowUnit &unit, RowValues &values);
  llvm::SmallVector<mlir::Value> accumulate(mlir::OpBuilder &builder, const RowUnit &unit,
                                            mlir::Value firstSample);
  void storeSums(mlir::OpBuilder &builder, llvm::ArrayRef<mlir::Value> sums, mlir::Value tile);

  mlir::Value loadRow(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value value,
                      mlir::Value row) override;
  mlir::Value loadOtherRow(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value value,
                           mlir::Value row) override;
  /// Where all blocks read a value, of `copy`.
  Place getExchange(const Exchange &exchange, mlir::Value copy) const {
    return {vectors, {copy, slot}, exchange.first};
  }
  /// Whether this lane has a row of `rows` rows, and a sample.
  mlir::Value ownsRow(mlir::OpBuilder &builder, int64_t rows);

  mlir::Location loc;
  size_t firstState, numStates;
  int64_t rowsOfWarp, numRows = 1, mostSums = 1, rowsOfVectors = 0;
  /// Entries of matrices that a lane has.
  int64_t numEntries = 0;
  /// Values that other rows are read of, and arguments whose own rows are read.
  llvm::MapVector<mlir::Value, Exchange> exchanged;
  llvm::SmallVector<mlir::Value> sources;

  // Of the launch that is emitted.
  const GridLoop *loop = nullptr;
  mlir::Value counters, vectors, sums, numSamples;
  // Of its thread: numbers of its group, warp and lane, its row, and its sample, which
  // may be beyond the last; that or the last; tiles of samples that the group has.
  mlir::Value group, warp, lane, row, slot, hasSample, sample, numTiles, firstRow, isFirst;
  llvm::DenseMap<mlir::Operation *, llvm::SmallVector<mlir::Value>> matrixParts;
  // Of the step: the copy of exchanged values that is read, and the other one; the count at
  // which the last barrier ended; and rows that this lane has.
  mlir::Value position, current, next, passed;
  RowValues own;
};

} // namespace bppsa

#endif // BPPSA_LIB_CONVERSION_BPPSATOGPU_TIMELOOPS_COOPERATIVELOOP_H
