//===- ChainArrays.h - arrays of a chain and their windows ------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// The loops of an expanded scan work on windows of the arrays of a chain: some steps of some rows.
// A row is a sample or, in packed arrays, a block of samples. Values kept between loops are stored
// in arrays of the same form, with slots instead of steps.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_DIALECT_BPPSA_TRANSFORMS_SCAN_CHAINARRAYS_H
#define BPPSA_LIB_DIALECT_BPPSA_TRANSFORMS_SCAN_CHAINARRAYS_H

#include "bppsa/Dialect/BPPSA/IR/BPPSA.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace bppsa {

/// Consecutive slots, rows or elements of vectors.
struct IndexRange {
  mlir::OpFoldResult first, count;
};

/// A part of an array `[slots, rows, ...]` or, if packed, `[rows, slots, ..., lanes]`.
struct ArrayWindow {
  IndexRange slots, rows;
  /// Range in the innermost dimension (not counting lanes); nullopt selects all of it.
  std::optional<IndexRange> elements = std::nullopt;
  /// Drop the slot or the row dimension, which must have one slot or one row.
  bool dropsSlots = false, dropsRows = false;
};

/// Returns the number of steps of `chain`, or kDynamic.
int64_t getNumSteps(ChainOp chain);

/// The sizes of a chain and the layout of its arrays.
class ChainArrays {
public:
  ChainArrays(mlir::OpBuilder &builder, ChainOp chain);

  mlir::OpBuilder &builder;
  mlir::Location loc;
  mutable ChainOp chain;
  mlir::Value numSteps, numRows;
  /// Number of values of each state, and of all states, which are concatenated.
  llvm::SmallVector<int64_t> stateSizes;
  int64_t size;
  /// Whether A of the affine transitions is diagonal, and the number of columns of a transition.
  bool isDiagonal;
  int64_t numColumns;

  bool isPacked() const { return chain.getLanes().has_value(); }
  /// Returns the index of the first value of `state` among the values of all states.
  int64_t getStateOffset(size_t state) const;
  IndexRange getStateRange(size_t state) const;
  IndexRange getAllRows() const;
  mlir::OpFoldResult getAttr(int64_t value) const { return builder.getIndexAttr(value); }
  mlir::Value getIndex(int64_t value) const;

  /// Allocates an array of `slots` slots of `rows` rows, with `inner` values each.
  mlir::Value createEmpty(mlir::OpFoldResult slots, mlir::OpFoldResult rows,
                          llvm::ArrayRef<int64_t> inner) const;
  /// Creates an empty tensor of `outer` x `inner` values, for the rows of one slot or for a result
  /// that is written completely.
  mlir::Value createEmpty(llvm::ArrayRef<mlir::OpFoldResult> outer,
                          llvm::ArrayRef<int64_t> inner) const;
  mlir::Value extract(mlir::Value array, const ArrayWindow &window) const;
  mlir::Value insert(mlir::Value value, mlir::Value array, const ArrayWindow &window) const;
  /// Like `insert`, but at the end of an iteration of `loop`, which has `array` as a shared output.
  void insertInParallel(mlir::scf::ForallOp loop, mlir::Value value, mlir::Value array,
                        const ArrayWindow &window) const;
  /// Rows of an array without slots.
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
