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

/// An allocation or function argument that is read or possibly written. Different arrays do not
/// overlap.
struct MemoryAccess {
  mlir::Value array;
  bool isWrite;
};

/// Returns the arrays that `op` and its regions may write.
llvm::SmallDenseSet<mlir::Value> getWrittenArrays(mlir::Operation *op);

/// Returns the argument that `value` is a view of, or nullopt.
std::optional<unsigned> getViewedArgument(mlir::func::FuncOp function, mlir::Value value);

/// Returns all arguments if `function` is external.
llvm::BitVector getWrittenArguments(mlir::func::FuncOp function);

/// An array is written if `isWritten(i)` holds for an operand i that views it. Returns nullopt if
/// an array is unknown.
std::optional<llvm::SmallVector<MemoryAccess>>
getArrayAccesses(mlir::ValueRange operands, llvm::function_ref<bool(unsigned)> isWritten);

/// True if operations with these accesses must keep their order.
bool conflict(llvm::ArrayRef<MemoryAccess> a, llvm::ArrayRef<MemoryAccess> b);

} // namespace bppsa

#endif // BPPSA_DIALECT_BPPSA_ANALYSIS_MEMORYACCESSES_H
