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

/// Values assumed for run-time sizes.
struct AssumedSizes {
  int64_t batch, length;
};

/// Memory of the tensors of a single-block function, without its arguments and results. Results
/// share memory with destinations, views with sources.
class TensorLiveness {
public:
  TensorLiveness(mlir::FunctionOpInterface function, AssumedSizes sizes);

  /// Returns the peak of live bytes in `order`, which contains the whole block.
  int64_t getPeak(llvm::ArrayRef<mlir::Operation *> order) const;
  /// Returns the peak if operations from index `carried` on run within the first `forward`
  /// operations of the next step.
  int64_t getPeak(llvm::ArrayRef<mlir::Operation *> order, size_t carried, size_t forward) const;

private:
  llvm::SmallVector<int64_t> getProfile(llvm::ArrayRef<mlir::Operation *> order) const;
  int64_t getBytes(mlir::Value tensor, AssumedSizes sizes, SymbolicSizes &symbolic) const;

  llvm::SmallVector<mlir::AffineExpr> symbols;
  /// Memory index of each tensor that counts.
  llvm::DenseMap<mlir::Value, unsigned> storages;
  /// Bytes by memory index; 0 for memory of the caller.
  llvm::SmallVector<int64_t> bytes;
};

} // namespace bppsa

#endif // BPPSA_DIALECT_BPPSA_ANALYSIS_TENSORLIVENESS_H
