//===- SumTiles.h - running sums in registers -------------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// Running sums are tiles carried by the time loop: vectors for outer products, scalars for plain
// sums. The thread with a row of a term holds that row of the sum, or some of its columns.
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
  /// The link yields terms last; `parts` threads share a row.
  SumTiles(const CotangentLoop &loop, mlir::Block &link, int64_t parts);

  bool isEmpty() const { return sums.empty(); }
  int64_t countRegisters() const;
  int64_t countElements() const;

  /// Clears the sums in `memory`, in column-major order, and returns tiles of zeros.
  llvm::SmallVector<mlir::Value> begin(mlir::OpBuilder &builder, const StepTiles &steps,
                                       mlir::Value memory);
  void beginStep(llvm::ArrayRef<Place> ofStep);
  /// Factors with more than `capacity` elements are not read ahead.
  void readFactors(mlir::OpBuilder &builder, const StepTiles &steps, int64_t capacity);
  mlir::Value add(mlir::OpBuilder &builder, const StepTiles &steps, size_t number,
                  mlir::Value running, mlir::Value term);
  /// True if the term has to wait for a factor.
  bool hasFactor(size_t number) const { return sums[number].hasFactor(); }
  /// Adds the sums to memory and restarts them every few hundred positions.
  llvm::SmallVector<mlir::Value> empty(mlir::OpBuilder &builder, const StepTiles &steps,
                                       mlir::Value position, mlir::ValueRange running);
  void store(mlir::OpBuilder &builder, mlir::ValueRange running) const;

private:
  /// Plain sums have no factor.
  struct Sum {
    int64_t factor, rows, columns;
    bool hasFactor() const { return factor != kNoFactor; }
    int64_t countElements() const { return rows * columns; }
  };
  BlockCyclicLayout getLayout(const Sum &sum) const { return {sum.columns, parts}; }
  mlir::Type getElementType(const Sum &sum) const;
  llvm::SmallVector<mlir::Value>
  makeTiles(mlir::OpBuilder &builder, const StepTiles &steps,
            llvm::function_ref<mlir::Value(mlir::OpBuilder &)> number) const;
  mlir::Value getFactor(mlir::OpBuilder &builder, const StepTiles &steps, const Sum &sum);

  mlir::Location loc;
  mlir::Type element;
  int64_t parts;
  llvm::SmallVector<Sum> sums;

  llvm::SmallVector<mlir::Value> arrays;
  mlir::Value zero;
  llvm::SmallVector<Place> factors;
  /// Factor elements, by factor and rows of the sum.
  std::map<std::pair<int64_t, int64_t>, mlir::Value> loaded;
};

} // namespace bppsa

#endif // BPPSA_LIB_CONVERSION_BPPSATOBGPU_TIMELOOPS_SUMTILES_H
