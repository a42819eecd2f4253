//===- RowProduct.h - a matrix row times a vector ---------------*- C++ -*-===//
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

/// Loads entry `[row, column]` of the matrix of `product`, which is `array` in memory.
mlir::Value loadMatrixEntry(mlir::OpBuilder &builder, mlir::Location loc, MatVecOp product,
                            mlir::Value array, mlir::Value row, mlir::Value column);

/// The work of one of `parts` neighbouring threads that share the columns of a row.
class RowProduct {
public:
  RowProduct(MatVecOp product, mlir::Value array, int64_t parts);

  int64_t getNumColumns() const { return layout.getNumSlots(); }

  /// Loads the entries of row `row` for thread `part`. Columns beyond the last repeat the last
  /// entry.
  llvm::SmallVector<mlir::Value> loadEntries(mlir::OpBuilder &builder, mlir::Value row,
                                             mlir::Value part) const;
  /// Loads element i of the thread's part of `vector`; 0 beyond the last.
  mlir::Value loadFactor(mlir::OpBuilder &builder, const Place &vector, mlir::Value part,
                         int64_t i) const;

  /// Adds the thread's products to the partial sums in turn.
  void accumulate(mlir::OpBuilder &builder, llvm::ArrayRef<mlir::Value> entries,
                  llvm::function_ref<mlir::Value(int64_t)> getFactor,
                  llvm::MutableArrayRef<mlir::Value> partials) const;
  /// Same, for a whole row `row` whose entries are read one by one, into one sum.
  mlir::Value accumulateFromMemory(mlir::OpBuilder &builder, const Place &vector, mlir::Value row,
                                   mlir::Value sum) const;

private:
  MatVecOp product;
  mlir::Location loc;
  mlir::Value array;
  int64_t numRows, numColumns;
  BlockCyclicLayout layout;
};

/// Returns the number of vector elements to prefetch.
int64_t countReadAhead(int64_t registers, int64_t numArguments);

} // namespace bppsa

#endif // BPPSA_LIB_CODEGEN_GPU_ROWPRODUCT_H
