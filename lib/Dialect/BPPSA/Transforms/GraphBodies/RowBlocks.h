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

/// Returns the rows per block. Nested layers with one sample per row use as many lanes as rows; if
/// they hold most weights, a block has as many rows as lanes.
int64_t getRowsOfBlock(mlir::Block &body, mlir::ValueRange captures);

struct WrittenByRows {
  mlir::Value array;
  int64_t rowAxis;
};

struct RowBlock {
  mlir::OpFoldResult rows, firstRow;
  /// Windows of the arrays, then sums, initially zero.
  mlir::SmallVector<mlir::Value> arrays;
  mlir::LoopLikeOpInterface loop;
};

/// Creates a parallel loop over blocks of rows. `emitBlock` returns new arrays and sums. Returns
/// `arrays` and sums of types `sumTypes`, added in block order, so results do not depend on the
/// number of threads.
mlir::SmallVector<mlir::Value>
createRowBlocks(mlir::OpBuilder &builder, mlir::Location loc, mlir::OpFoldResult rows,
                int64_t rowsOfBlock, llvm::ArrayRef<WrittenByRows> arrays, mlir::TypeRange sumTypes,
                llvm::function_ref<mlir::SmallVector<mlir::Value>(const RowBlock &)> emitBlock);

mlir::Value createZeros(mlir::OpBuilder &builder, mlir::Location loc, mlir::Type type);

} // namespace bppsa

#endif // BPPSA_LIB_DIALECT_BPPSA_TRANSFORMS_GRAPHBODIES_ROWBLOCKS_H
