//===- ChainArrays.h - arrays of a chain and their windows ------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// Windows (steps and rows) of the arrays of a chain. A row is a sample or, if packed, a block of
// samples. Arrays between loops have slots instead of steps.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_DIALECT_BPPSA_TRANSFORMS_SCAN_CHAINARRAYS_H
#define BPPSA_LIB_DIALECT_BPPSA_TRANSFORMS_SCAN_CHAINARRAYS_H

#include "bppsa/Dialect/BPPSA/IR/BPPSA.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace bppsa {

struct IndexRange {
  mlir::OpFoldResult first, count;
};

/// Part of `[slots, rows, ...]` or, if packed, `[rows, slots, ..., lanes]`.
struct ArrayWindow {
  IndexRange slots, rows;
  /// Range in the innermost dimension (without lanes); nullopt selects all.
  std::optional<IndexRange> elements = std::nullopt;
  /// True to drop the slot or row dimension, of size one.
  bool dropsSlots = false, dropsRows = false;
};

/// Returns kDynamic if unknown.
int64_t getNumSteps(ChainOp chain);

class ChainArrays {
public:
  ChainArrays(mlir::OpBuilder &builder, ChainOp chain);

  mlir::OpBuilder &builder;
  mlir::Location loc;
  mutable ChainOp chain;
  mlir::Value numSteps, numRows;
  llvm::SmallVector<int64_t> stateSizes;
  int64_t size;
  /// Whether A of the affine transitions is diagonal; columns of a transition.
  bool isDiagonal;
  int64_t numColumns;

  bool isPacked() const { return chain.getLanes().has_value(); }
  /// Returns the index of the first value of `state` among all states.
  int64_t getStateOffset(size_t state) const;
  IndexRange getStateRange(size_t state) const;
  IndexRange getAllRows() const;
  mlir::OpFoldResult getAttr(int64_t value) const { return builder.getIndexAttr(value); }
  mlir::Value getIndex(int64_t value) const;

  /// Has `inner` values per slot and row.
  mlir::Value createEmpty(mlir::OpFoldResult slots, mlir::OpFoldResult rows,
                          llvm::ArrayRef<int64_t> inner) const;
  /// Holds the rows of one slot, or a result written completely.
  mlir::Value createEmpty(llvm::ArrayRef<mlir::OpFoldResult> outer,
                          llvm::ArrayRef<int64_t> inner) const;
  mlir::Value extract(mlir::Value array, const ArrayWindow &window) const;
  mlir::Value insert(mlir::Value value, mlir::Value array, const ArrayWindow &window) const;
  /// Like `insert`, at the end of an iteration of `loop`, whose shared output is `array`.
  void insertInParallel(mlir::scf::ForallOp loop, mlir::Value value, mlir::Value array,
                        const ArrayWindow &window) const;
  mlir::Value extractRows(mlir::Value array, IndexRange rows) const;
  mlir::Value insertRows(mlir::Value value, mlir::Value array, IndexRange rows) const;

  llvm::SmallVector<mlir::Value> extractAll(mlir::ValueRange sequences,
                                            const ArrayWindow &window) const;
  mlir::Value cast(mlir::Value value, mlir::Type type) const;

private:
  struct Slice {
    llvm::SmallVector<mlir::OpFoldResult> offsets, sizes, strides;
  };
  llvm::SmallVector<mlir::OpFoldResult> getArraySizes(llvm::ArrayRef<mlir::OpFoldResult> outer,
                                                      llvm::ArrayRef<int64_t> inner) const;
  Slice getSlice(mlir::Value array, const ArrayWindow &window) const;
  Slice getRowSlice(mlir::Value array, IndexRange rows) const;
  int64_t getSlotDim() const { return isPacked() ? 1 : 0; }
};

} // namespace bppsa

#endif // BPPSA_LIB_DIALECT_BPPSA_TRANSFORMS_SCAN_CHAINARRAYS_H
