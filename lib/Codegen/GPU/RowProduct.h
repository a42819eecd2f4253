//===- RowProduct.h - a row of a matrix times a vector ----------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_CODEGEN_GPU_ROWPRODUCT_H
#define BPPSA_LIB_CODEGEN_GPU_ROWPRODUCT_H

#include "BlockCyclicLayout.h"
#include "Place.h"
#include "bppsa/Dialect/BPPSA/IR/BPPSA.h"

namespace bppsa {

/// Entry `[row, column]` of the matrix of `product`, which is `array` in memory.
mlir::Value loadMatrixEntry(mlir::OpBuilder &builder, mlir::Location loc, MatVecOp product,
                            mlir::Value array, mlir::Value row, mlir::Value column);

/// What one of `parts` neighbouring threads, to which the columns of a row are distributed, does
/// for the row of a product.
class RowProduct {
public:
  /// Of `product`, whose matrix is `array` in memory.
  RowProduct(MatVecOp product, mlir::Value array, int64_t parts);

  /// Columns of the row that the thread has.
  int64_t getNumColumns() const { return layout.getNumSlots(); }

  /// The entries of row `row` that thread `part` has; beyond the last column the entry is that of
  /// the last one.
  llvm::SmallVector<mlir::Value> loadEntries(mlir::OpBuilder &builder, mlir::Value row,
                                             mlir::Value part) const;
  /// Element i of what the thread has of `vector`; 0 beyond the last, whatever the vector holds.
  mlir::Value loadFactor(mlir::OpBuilder &builder, const Place &vector, mlir::Value part,
                         int64_t i) const;

  /// Adds what the thread has of the row to partial sums, kNumPartials by turns; `getFactor(i)`
  /// gives the factor of `entries[i]`.
  void accumulate(mlir::OpBuilder &builder, llvm::ArrayRef<mlir::Value> entries,
                  llvm::function_ref<mlir::Value(int64_t)> getFactor,
                  llvm::MutableArrayRef<mlir::Value> partials) const;
  /// The same for all of row `row`, whose entries are read one by one, in one sum.
  mlir::Value accumulateFromMemory(mlir::OpBuilder &builder, const Place &vector, mlir::Value row,
                                   mlir::Value sum) const;

private:
  MatVecOp product;
  mlir::Location loc;
  mlir::Value array;
  int64_t numRows, numColumns;
  BlockCyclicLayout layout;
};

/// Elements of vectors that a thread with so many other numbers in registers reads before it
/// multiplies the first, in a step with so many arguments.
int64_t countReadAhead(int64_t registers, int64_t numArguments);

} // namespace bppsa

#endif // BPPSA_LIB_CODEGEN_GPU_ROWPRODUCT_H
