//===- RowBlocks.h - blocks of rows that threads share ----------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_DIALECT_BPPSA_TRANSFORMS_GRAPHBODIES_ROWBLOCKS_H
#define BPPSA_LIB_DIALECT_BPPSA_TRANSFORMS_GRAPHBODIES_ROWBLOCKS_H

#include "mlir/IR/Builders.h"
#include "mlir/Interfaces/LoopLikeInterface.h"

namespace bppsa {

/// Rows of the blocks of a loop with `body`, which reads `captures`. A nested layer over one sample
/// a row has no more lanes than a block has rows; where such layers hold most of the weights,
/// blocks have as many rows as vectors have lanes.
int64_t getRowsOfBlock(mlir::Block &body, mlir::ValueRange captures);

/// An array that a loop writes row by row, and which of its axes rows are.
struct WrittenByRows {
  mlir::Value array;
  int64_t rowAxis;
};

/// One block while its code is written.
struct RowBlock {
  mlir::OpFoldResult rows, firstRow;
  /// Its windows of the arrays, then its sums, which are zero.
  mlir::SmallVector<mlir::Value> arrays;
  mlir::LoopLikeOpInterface loop;
};

/// A parallel loop over blocks of `rowsOfBlock` of `rows` rows. `emitBlock` writes a block and
/// returns what becomes of its arrays and sums. Returns `arrays` and the sums over all rows, of
/// `sumTypes`: blocks are added up in order, so that no number of threads changes a bit.
mlir::SmallVector<mlir::Value>
createRowBlocks(mlir::OpBuilder &builder, mlir::Location loc, mlir::OpFoldResult rows,
                int64_t rowsOfBlock, llvm::ArrayRef<WrittenByRows> arrays, mlir::TypeRange sumTypes,
                llvm::function_ref<mlir::SmallVector<mlir::Value>(const RowBlock &)> emitBlock);

/// Zeros of `type`, a static tensor.
mlir::Value createZeros(mlir::OpBuilder &builder, mlir::Location loc, mlir::Type type);

} // namespace bppsa

#endif // BPPSA_LIB_DIALECT_BPPSA_TRANSFORMS_GRAPHBODIES_ROWBLOCKS_H
