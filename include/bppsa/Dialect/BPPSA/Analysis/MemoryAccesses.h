//===- MemoryAccesses.h - what calls of kernels use of memory ----*- C++ -*-===//
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

/// An array, an allocation or an argument of its function, that an operation uses, and whether it
/// may write it. Different arrays do not overlap.
struct MemoryAccess {
  mlir::Value array;
  bool isWrite;
};

/// The arrays that `op`, with all that is in it, may write.
llvm::SmallDenseSet<mlir::Value> getWrittenArrays(mlir::Operation *op);

/// The number of the argument of `function` that `value` is a view of.
std::optional<unsigned> getViewedArgument(mlir::func::FuncOp function, mlir::Value value);

/// The arguments whose memory `function` may write; all where it is not defined here.
llvm::BitVector getWrittenArguments(mlir::func::FuncOp function);

/// The arrays that `operands` are views of, each once, written where `isWritten(i)` for one of its
/// operands i; nothing where one is a view of what is not known.
std::optional<llvm::SmallVector<MemoryAccess>>
getArrayAccesses(mlir::ValueRange operands, llvm::function_ref<bool(unsigned)> isWritten);

/// Whether two operations with these accesses must keep their order.
bool conflict(llvm::ArrayRef<MemoryAccess> a, llvm::ArrayRef<MemoryAccess> b);

} // namespace bppsa

#endif // BPPSA_DIALECT_BPPSA_ANALYSIS_MEMORYACCESSES_H
