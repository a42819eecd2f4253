//===- BlockLoop.h - a block of threads runs a chain -----------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_CONVERSION_BPPSATOGPU_TIMELOOPS_BLOCKLOOP_H
#define BPPSA_LIB_CONVERSION_BPPSATOGPU_TIMELOOPS_BLOCKLOOP_H

#include "../Steps/RowEvaluator.h"
#include "../Steps/StepRing.h"
#include "bppsa/Dialect/BPPSA/Analysis/CotangentLoop.h"

namespace bppsa {

/// Steps and samples of a loop.
mlir::Value countSteps(mlir::OpBuilder &builder, const CotangentLoop &loop);
mlir::Value countSamples(mlir::OpBuilder &builder, const CotangentLoop &loop);
/// The step at position `position` of a loop: T-1-position, or `position` with
/// `reverse`.
mlir::Value getStep(mlir::OpBuilder &builder, const CotangentLoop &loop, mlir::Value position);

/// Applies the link to the cotangent of one sample, step by step. The cotangents of
/// the states lie one after the other in shared memory, twice: a step reads one copy
/// and writes the other.
class BlockLoop {
public:
  /// For blocks of `mapping`. Fails after a diagnostic, where the link cannot be emitted.
  static llvm::FailureOr<BlockLoop> create(const CotangentLoop &loop, LinkOptions options,
                                           GPUMappingAttr mapping);

  /// Launches `numBlocks` blocks that run `body`, which may run steps. Where the link has
  /// sums, another launch adds up those of the blocks; flat ones go where `body` keeps them.
  void launch(mlir::OpBuilder &builder, mlir::Value numBlocks,
              llvm::function_ref<void(mlir::OpBuilder &, const LaunchedThread &)> body);

  // Inside of a launch, by all threads of a block.

  /// Makes the sums of this block those at `place`, one after the other and each column by column,
  /// and clears them.
  void keepSumsIn(mlir::OpBuilder &builder, Place place);
  /// Sets the cotangent to `value(row)` for each of its rows.
  void start(mlir::OpBuilder &builder, const LaunchedThread &thread,
             llvm::function_ref<mlir::Value(mlir::OpBuilder &, mlir::Value row)> value);
  /// Runs positions [first, last) of `sample`. Ends with a barrier.
  void run(mlir::OpBuilder &builder, mlir::Value sample, mlir::Value first, mlir::Value last);
  /// Gives the cotangent after the loop to `body(row, value)`, row by row.
  void finish(mlir::OpBuilder &builder, const LaunchedThread &thread,
              llvm::function_ref<void(mlir::OpBuilder &, mlir::Value row, mlir::Value value)> body);

private:
  BlockLoop(const CotangentLoop &loop, std::unique_ptr<mlir::Region> region, BodyRowEmitter emitter,
            LinkOptions options, int64_t stages);
  llvm::SmallVector<mlir::Value> emitStep(mlir::OpBuilder &builder, mlir::Value sample,
                                          mlir::Value position, mlir::Value before,
                                          mlir::Value after, mlir::ValueRange sums);
  bool hasSums() const { return options.emit && !loop.sumWith.empty(); }
  llvm::SmallVector<mlir::Value> makeZeroSums(mlir::OpBuilder &builder) const;
  /// Where there is a zero in shared memory.
  std::pair<Place, mlir::Value> getZero(mlir::OpBuilder &builder) const;
  void storeSums(mlir::OpBuilder &builder, mlir::ValueRange sums, bool add);
  llvm::SmallVector<mlir::Value> emptySums(mlir::OpBuilder &builder, mlir::Value position,
                                           mlir::ValueRange sums);

  CotangentLoop loop;
  /// Holds the link as this run evaluates it.
  std::unique_ptr<mlir::Region> region;
  BodyRowEmitter emitter;
  LinkOptions options;
  /// Of the saved vectors, those that are injected, and the factors of sums that are
  /// not saved vectors.
  StepRing ring;
  /// Of each sum the element that it begins at in the sums of a block, and the rows.
  llvm::SmallVector<int64_t> firstOfSum, rowsOfSum;

  // Of the launch that is emitted.
  LaunchedThread ownThread = {};
  llvm::SmallVector<mlir::Value> ringArrays;
  /// The shared array `[2, rows]`, and which copy holds the cotangent. Where there are sums, a zero
  /// is behind the rows of the first copy.
  mlir::Value state, current;
  Place ownSums;
};

/// Loads row `row` of `sample` of `arrays`, one for each state of `loop`, laid one after the other.
mlir::Value loadOfStates(mlir::OpBuilder &builder, const CotangentLoop &loop,
                         mlir::ValueRange arrays, mlir::Value sample, mlir::Value row);
/// Writes it, but for states whose array is null.
void storeToStates(mlir::OpBuilder &builder, const CotangentLoop &loop,
                   llvm::ArrayRef<mlir::Value> arrays, mlir::Value sample, mlir::Value row,
                   mlir::Value value);

/// The sums of `loop` whose link yields `numYielded` values.
llvm::SmallVector<UnitSum> getUnitSums(const CotangentLoop &loop, unsigned numYielded);

} // namespace bppsa

#endif // BPPSA_LIB_CONVERSION_BPPSATOGPU_TIMELOOPS_BLOCKLOOP_H
