//===- BlockLoop.h - a block of threads runs a chain -----------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_CONVERSION_BPPSATOGPU_TIMELOOPS_BLOCKLOOP_H
#define BPPSA_LIB_CONVERSION_BPPSATOGPU_TIMELOOPS_BLOCKLOOP_H

#include "../Products/PartialSums.h"
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
  /// sums, another launch adds up those of the blocks.
  void launch(mlir::OpBuilder &builder, mlir::Value numBlocks,
              llvm::function_ref<void(mlir::OpBuilder &, const LaunchedThread &)> body);
  /// Launches blocks for runs [0, count), which run `body(number)`: one each, but fewer
  /// where each block has sums and these would take too much memory.
  void launchAll(
      mlir::OpBuilder &builder, mlir::Value count,
      llvm::function_ref<void(mlir::OpBuilder &, const LaunchedThread &, mlir::Value number)> body);

  // Inside of a launch, by all threads of a block.

  /// Sets the cotangent to `value(row)` for each of its rows.
  void start(mlir::OpBuilder &builder, const LaunchedThread &thread,
             llvm::function_ref<mlir::Value(mlir::OpBuilder &, mlir::Value row)> value);
  /// Runs positions [first, last) of `sample`. Ends with a barrier.
  void run(mlir::OpBuilder &builder, mlir::Value sample, mlir::Value first, mlir::Value last);
  /// Gives the cotangent after the loop to `body(row, value)`, row by row.
  void finish(mlir::OpBuilder &builder, const LaunchedThread &thread,
              llvm::function_ref<void(mlir::OpBuilder &, mlir::Value row, mlir::Value value)> body);
  /// Runs positions [first, last) of `sample` from the cotangent at `from`. Where
  /// `isLast` holds, what comes out are the cotangents of the initial states.
  void runFrom(mlir::OpBuilder &builder, const LaunchedThread &thread, mlir::Value sample,
               const Place &from, mlir::Value first, mlir::Value last, mlir::Value isLast);

private:
  BlockLoop(const CotangentLoop &loop, std::unique_ptr<mlir::Region> region, BodyRowEmitter emitter,
            LinkOptions options, int64_t stages);
  llvm::SmallVector<mlir::Value> emitStep(mlir::OpBuilder &builder, mlir::Value sample,
                                          mlir::Value position, mlir::Value before,
                                          mlir::Value after, mlir::ValueRange sums);
  bool hasSums() const { return options.emit && !loop.sumWith.empty(); }
  llvm::SmallVector<mlir::Value> makeZeroSums(mlir::OpBuilder &builder) const;
  void clearSums(mlir::OpBuilder &builder);
  void storeSums(mlir::OpBuilder &builder, mlir::ValueRange sums, bool add);
  llvm::SmallVector<mlir::Value> emptySums(mlir::OpBuilder &builder, mlir::Value position,
                                           mlir::ValueRange sums);
  void launchTotals(mlir::OpBuilder &builder);

  CotangentLoop loop;
  /// Holds the link as this run evaluates it.
  std::unique_ptr<mlir::Region> region;
  BodyRowEmitter emitter;
  LinkOptions options;
  /// Of the saved vectors, those that are injected, and the factors of sums that are
  /// not saved vectors.
  StepRing ring;
  /// The sums of blocks; sum k begins at element `firstOfSum[k]`, column by column, and behind the
  /// last one is a zero.
  std::optional<PartialSums> partials;
  llvm::SmallVector<int64_t> firstOfSum;

  // Of the launch that is emitted.
  LaunchedThread ownThread = {};
  llvm::SmallVector<mlir::Value> ringArrays;
  /// The shared array `[2, rows]`, and which copy holds the cotangent.
  mlir::Value state, current;
};

/// Loads row `row` of the seeds of `sample`, laid one after the other.
mlir::Value loadSeed(mlir::OpBuilder &builder, const CotangentLoop &loop, mlir::Value sample,
                     mlir::Value row);
/// Writes row `row` of the cotangents of the initial states of `sample`.
void storeCotangent(mlir::OpBuilder &builder, const CotangentLoop &loop, mlir::Value sample,
                    mlir::Value row, mlir::Value value);

/// The sums of `loop` whose link yields `numYielded` values.
llvm::SmallVector<UnitSum> getUnitSums(const CotangentLoop &loop, unsigned numYielded);

} // namespace bppsa

#endif // BPPSA_LIB_CONVERSION_BPPSATOGPU_TIMELOOPS_BLOCKLOOP_H
