//===- SumTiles.h - sums of what links yield, in registers ------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// A sum of outer products with a vector is a tile of vectors, that of a value alone a tile of
// numbers: the thread of a row of the value has that row of the sum, or its part of the columns
// where several share it. A loop over steps carries them.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_CONVERSION_BPPSATOBGPU_TIMELOOPS_SUMTILES_H
#define BPPSA_LIB_CONVERSION_BPPSATOBGPU_TIMELOOPS_SUMTILES_H

#include "StepTiles.h"
#include "bppsa/Dialect/BPPSA/Analysis/CotangentLoop.h"
#include <map>

namespace bppsa {

class SumTiles {
public:
  /// Those of `loop`, whose link yields what they add up last. `parts` threads share a row.
  SumTiles(const CotangentLoop &loop, mlir::Block &link, int64_t parts);

  bool isEmpty() const { return sums.empty(); }
  /// Registers of a thread for them.
  int64_t countRegisters() const;
  /// Elements of all sums in memory.
  int64_t countElements() const;

  /// Makes the sums of a block those in `memory`, a vector that has one after the other and each
  /// column by column, and clears them. Returns tiles of zeros, with which a loop begins.
  llvm::SmallVector<mlir::Value> begin(mlir::OpBuilder &builder, const StepTiles &steps,
                                       mlir::Value memory);
  /// Begins a step, in which the factors are at `ofStep`.
  void beginStep(llvm::ArrayRef<Place> ofStep);
  /// Reads them where they have no more than `capacity` elements.
  void readFactors(mlir::OpBuilder &builder, const StepTiles &steps, int64_t capacity);
  /// Adds `term`, a tile of what the step yields for sum `number`, to what was `running` before.
  mlir::Value add(mlir::OpBuilder &builder, const StepTiles &steps, size_t number,
                  mlir::Value running, mlir::Value term);
  /// Whether that reads a factor, and so waits for it.
  bool hasFactor(size_t number) const { return sums[number].hasFactor(); }
  /// After some positions adds them to those in memory and begins new ones.
  llvm::SmallVector<mlir::Value> empty(mlir::OpBuilder &builder, const StepTiles &steps,
                                       mlir::Value position, mlir::ValueRange running);
  /// Adds them to those in memory.
  void store(mlir::OpBuilder &builder, mlir::ValueRange running) const;

private:
  /// Of `rows` x `columns` elements; a value alone has no factor.
  struct Sum {
    int64_t factor, rows, columns;
    bool hasFactor() const { return factor != kNoFactor; }
    int64_t countElements() const { return rows * columns; }
  };
  BlockCyclicLayout getLayout(const Sum &sum) const { return {sum.columns, parts}; }
  /// What a thread has of a sum.
  mlir::Type getElementType(const Sum &sum) const;
  /// Tiles whose elements are all `number`.
  llvm::SmallVector<mlir::Value>
  makeTiles(mlir::OpBuilder &builder, const StepTiles &steps,
            llvm::function_ref<mlir::Value(mlir::OpBuilder &)> number) const;
  mlir::Value getFactor(mlir::OpBuilder &builder, const StepTiles &steps, const Sum &sum);

  mlir::Location loc;
  mlir::Type element;
  int64_t parts;
  llvm::SmallVector<Sum> sums;

  // Of the kernel that is emitted.
  llvm::SmallVector<mlir::Value> arrays;
  mlir::Value zero;
  // Of the step.
  llvm::SmallVector<Place> factors;
  /// The elements that threads multiply, by factor and rows of the sums.
  std::map<std::pair<int64_t, int64_t>, mlir::Value> loaded;
};

} // namespace bppsa

#endif // BPPSA_LIB_CONVERSION_BPPSATOBGPU_TIMELOOPS_SUMTILES_H
