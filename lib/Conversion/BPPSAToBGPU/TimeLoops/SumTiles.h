//===- SumTiles.h - running sums in registers -------------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// A sum of outer products is a tile of vectors, and a plain sum is a tile of scalars. The thread
// that holds a row of a term also holds this row of the sum, or a part of its columns if several
// threads share the row. The time loop carries these tiles.
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
  /// Creates the sums of `loop`, whose link yields their terms last. `parts` threads share a row.
  SumTiles(const CotangentLoop &loop, mlir::Block &link, int64_t parts);

  bool isEmpty() const { return sums.empty(); }
  int64_t countRegisters() const;
  int64_t countElements() const;

  /// Places the sums of a block in `memory`, one after the other in column-major order, and clears
  /// them. Returns tiles of zeros for the start of the loop.
  llvm::SmallVector<mlir::Value> begin(mlir::OpBuilder &builder, const StepTiles &steps,
                                       mlir::Value memory);
  void beginStep(llvm::ArrayRef<Place> ofStep);
  /// Reads the factors ahead if they have at most `capacity` elements.
  void readFactors(mlir::OpBuilder &builder, const StepTiles &steps, int64_t capacity);
  mlir::Value add(mlir::OpBuilder &builder, const StepTiles &steps, size_t number,
                  mlir::Value running, mlir::Value term);
  /// Returns true if adding a term has to wait for a factor.
  bool hasFactor(size_t number) const { return sums[number].hasFactor(); }
  /// After every few hundred positions, adds the sums to memory and restarts them from zero.
  llvm::SmallVector<mlir::Value> empty(mlir::OpBuilder &builder, const StepTiles &steps,
                                       mlir::Value position, mlir::ValueRange running);
  void store(mlir::OpBuilder &builder, mlir::ValueRange running) const;

private:
  /// A sum of `rows` x `columns` elements. Plain sums have no factor.
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

  // State of the emitted kernel.
  llvm::SmallVector<mlir::Value> arrays;
  mlir::Value zero;
  // State of the current step.
  llvm::SmallVector<Place> factors;
  /// The factor elements that threads multiply, by factor and number of rows of the sum.
  std::map<std::pair<int64_t, int64_t>, mlir::Value> loaded;
};

} // namespace bppsa

#endif // BPPSA_LIB_CONVERSION_BPPSATOBGPU_TIMELOOPS_SUMTILES_H
