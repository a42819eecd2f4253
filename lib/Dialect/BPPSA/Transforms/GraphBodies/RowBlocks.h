//===- RowBlocks.h - parallel blocks of rows --------------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_DIALECT_BPPSA_TRANSFORMS_GRAPHBODIES_ROWBLOCKS_H
#define BPPSA_LIB_DIALECT_BPPSA_TRANSFORMS_GRAPHBODIES_ROWBLOCKS_H

#include "mlir/IR/Builders.h"
#include "mlir/Interfaces/LoopLikeInterface.h"

namespace bppsa {

/// Returns the number of rows per block of a loop with `body` and `captures`. Nested layers over
/// one sample per row can use only as many lanes as a block has rows. If such layers hold most of
/// the weights, blocks have as many rows as vectors have lanes.
int64_t getRowsOfBlock(mlir::Block &body, mlir::ValueRange captures);

/// An array that a loop writes row by row, and the axis of its rows.
struct WrittenByRows {
  mlir::Value array;
  int64_t rowAxis;
};

/// The block for which code is being emitted.
struct RowBlock {
  mlir::OpFoldResult rows, firstRow;
  /// Windows of the arrays of this block, followed by its sums, which are initially zero.
  mlir::SmallVector<mlir::Value> arrays;
  mlir::LoopLikeOpInterface loop;
};

/// Creates a parallel loop over blocks of `rowsOfBlock` of the `rows` rows. `emitBlock` emits a
/// block and returns the new values of its arrays and sums. Returns `arrays` and the sums over all
/// rows, of types `sumTypes`. Sums of blocks are added in order, so results do not depend on the
/// number of threads.
mlir::SmallVector<mlir::Value>
createRowBlocks(mlir::OpBuilder &builder, mlir::Location loc, mlir::OpFoldResult rows,
                int64_t rowsOfBlock, llvm::ArrayRef<WrittenByRows> arrays, mlir::TypeRange sumTypes,
                llvm::function_ref<mlir::SmallVector<mlir::Value>(const RowBlock &)> emitBlock);

mlir::Value createZeros(mlir::OpBuilder &builder, mlir::Location loc, mlir::Type type);

} // namespace bppsa

#endif // BPPSA_LIB_DIALECT_BPPSA_TRANSFORMS_GRAPHBODIES_ROWBLOCKS_H
