//===- MemoryAccesses.h - memory accesses of kernel calls -------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_DIALECT_BPPSA_ANALYSIS_MEMORYACCESSES_H
#define BPPSA_DIALECT_BPPSA_ANALYSIS_MEMORYACCESSES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/DenseSet.h"

namespace bppsa {

/// An array that an operation uses, and whether the operation may write it. The array is an
/// allocation or an argument of the function. Different arrays do not overlap.
struct MemoryAccess {
  mlir::Value array;
  bool isWrite;
};

/// Returns the arrays that `op` and its regions may write.
llvm::SmallDenseSet<mlir::Value> getWrittenArrays(mlir::Operation *op);

/// Returns the index of the argument of `function` that `value` is a view of, or nullopt.
std::optional<unsigned> getViewedArgument(mlir::func::FuncOp function, mlir::Value value);

/// Returns the arguments whose memory `function` may write; all of them if `function` is external.
llvm::BitVector getWrittenArguments(mlir::func::FuncOp function);

/// Returns the arrays that `operands` are views of, without duplicates. An array is written if
/// `isWritten(i)` holds for an operand i that views it. Returns nullopt if an operand is a view of
/// an unknown array.
std::optional<llvm::SmallVector<MemoryAccess>>
getArrayAccesses(mlir::ValueRange operands, llvm::function_ref<bool(unsigned)> isWritten);

/// Returns true if two operations with these accesses must keep their order.
bool conflict(llvm::ArrayRef<MemoryAccess> a, llvm::ArrayRef<MemoryAccess> b);

} // namespace bppsa

#endif // BPPSA_DIALECT_BPPSA_ANALYSIS_MEMORYACCESSES_H
