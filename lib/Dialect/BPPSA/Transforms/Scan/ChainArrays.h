//===- ChainArrays.h - arrays of a chain and their windows ------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// The loops of an expanded scan work on windows of the arrays of a chain: some steps
// of some rows, where a row is a sample or, once packed, a block of samples. What they
// keep between loops lies in arrays of the same form, with slots in place of steps.
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

/// A part of an array `[slots, rows, ...]`; packed, `[rows, slots, ..., lanes]`.
struct ArrayWindow {
  IndexRange slots, rows;
  /// Of the innermost dimension but lanes; all of it where nothing is given.
  std::optional<IndexRange> elements = std::nullopt;
  /// Without the dimension of slots, which has to be one slot, and of rows, which has to be one
  /// row.
  bool dropsSlots = false, dropsRows = false;
};

/// The number of steps of `chain`, kDynamic where the run time knows it.
int64_t getNumSteps(ChainOp chain);

/// The sizes of a chain and the layout of its arrays, on tensors.
class ChainArrays {
public:
  ChainArrays(mlir::OpBuilder &builder, ChainOp chain);

  mlir::OpBuilder &builder;
  mlir::Location loc;
  mutable ChainOp chain;
  /// Steps and rows.
  mlir::Value numSteps, numRows;
  /// Values of each state, and of all states, which are laid one after the other.
  llvm::SmallVector<int64_t> stateSizes;
  int64_t size;
  /// Of affine transitions: whether A is a diagonal, and how many columns they have.
  bool isDiagonal;
  int64_t numColumns;

  bool isPacked() const { return chain.getLanes().has_value(); }
  /// The first value of state `state` among all.
  int64_t getStateOffset(size_t state) const;
  IndexRange getStateRange(size_t state) const;
  IndexRange getAllRows() const;
  mlir::OpFoldResult getAttr(int64_t value) const { return builder.getIndexAttr(value); }
  mlir::Value getIndex(int64_t value) const;

  /// An array for `slots` slots of `rows` rows, of `inner` values each.
  mlir::Value createEmpty(mlir::OpFoldResult slots, mlir::OpFoldResult rows,
                          llvm::ArrayRef<int64_t> inner) const;
  /// An empty tensor with these sizes and those of `inner` values: for rows of one slot, or for a
  /// result that is written whole.
  mlir::Value createEmpty(llvm::ArrayRef<mlir::OpFoldResult> outer,
                          llvm::ArrayRef<int64_t> inner) const;
  mlir::Value extract(mlir::Value array, const ArrayWindow &window) const;
  mlir::Value insert(mlir::Value value, mlir::Value array, const ArrayWindow &window) const;
  /// The same at the end of an iteration of `loop`, with `array` one of its outputs.
  void insertInParallel(mlir::scf::ForallOp loop, mlir::Value value, mlir::Value array,
                        const ArrayWindow &window) const;
  /// Rows of an array that has no slots.
  mlir::Value extractRows(mlir::Value array, IndexRange rows) const;
  mlir::Value insertRows(mlir::Value value, mlir::Value array, IndexRange rows) const;

  /// Windows of all `sequences`.
  llvm::SmallVector<mlir::Value> extractAll(mlir::ValueRange sequences,
                                            const ArrayWindow &window) const;
  mlir::Value cast(mlir::Value value, mlir::Type type) const;

private:
  struct Slice {
    llvm::SmallVector<mlir::OpFoldResult> offsets, sizes, strides;
  };
  /// Those of an array whose vectors have `inner` values each.
  llvm::SmallVector<mlir::OpFoldResult> getArraySizes(llvm::ArrayRef<mlir::OpFoldResult> outer,
                                                      llvm::ArrayRef<int64_t> inner) const;
  Slice getSlice(mlir::Value array, const ArrayWindow &window) const;
  Slice getRowSlice(mlir::Value array, IndexRange rows) const;
  int64_t getSlotDim() const { return isPacked() ? 1 : 0; }
};

} // namespace bppsa

#endif // BPPSA_LIB_DIALECT_BPPSA_TRANSFORMS_SCAN_CHAINARRAYS_H
