//===- TensorLiveness.h - peak memory of tensors ----------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_DIALECT_BPPSA_ANALYSIS_TENSORLIVENESS_H
#define BPPSA_DIALECT_BPPSA_ANALYSIS_TENSORLIVENESS_H

#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/DenseMap.h"

namespace bppsa {

class SymbolicSizes;

/// Values assumed for sizes that are only known at run time.
struct AssumedSizes {
  int64_t batch, length;
};

/// The memory of the tensors that a function with a single block computes. A result shares the
/// memory of its destination, and a view shares the memory of its source. Arguments and results of
/// the function belong to the caller and do not count.
class TensorLiveness {
public:
  TensorLiveness(mlir::FunctionOpInterface function, AssumedSizes sizes);

  /// Returns the peak number of live bytes if the operations run in `order`, which contains the
  /// whole block.
  int64_t getPeak(llvm::ArrayRef<mlir::Operation *> order) const;
  /// Returns the peak if the operations from index `carried` on are deferred to the next step and
  /// finish within the first `forward` operations of that step.
  int64_t getPeak(llvm::ArrayRef<mlir::Operation *> order, size_t carried, size_t forward) const;

private:
  llvm::SmallVector<int64_t> getProfile(llvm::ArrayRef<mlir::Operation *> order) const;
  int64_t getBytes(mlir::Value tensor, AssumedSizes sizes, SymbolicSizes &symbolic) const;

  /// Assumed sizes of the symbols of the module.
  llvm::SmallVector<mlir::AffineExpr> symbols;
  /// Index of the memory of each tensor. Tensors that do not count have no entry.
  llvm::DenseMap<mlir::Value, unsigned> storages;
  /// Bytes by memory index; 0 for memory of the caller.
  llvm::SmallVector<int64_t> bytes;
};

} // namespace bppsa

#endif // BPPSA_DIALECT_BPPSA_ANALYSIS_TENSORLIVENESS_H
