//===- TensorLiveness.h - memory of tensors in an order ---------*- C++ -*-===//
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

/// What sizes that only the run time knows count as.
struct AssumedSizes {
  int64_t batch, length;
};

/// The tensors that a function of one block makes, and the bytes that they take. Results have
/// the memory of their destinations and views that of their sources. What the caller has the memory
/// of, arguments and results of the function, does not count.
class TensorLiveness {
public:
  TensorLiveness(mlir::FunctionOpInterface function, AssumedSizes sizes);

  /// The most bytes that are alive at a time where the operations run in `order`, all of the block.
  int64_t getPeak(llvm::ArrayRef<mlir::Operation *> order) const;
  /// The same where the operations from number `carried` on run in the next step, at the end of the
  /// first `forward` operations of that at the latest.
  int64_t getPeak(llvm::ArrayRef<mlir::Operation *> order, size_t carried, size_t forward) const;

private:
  /// The bytes that are alive at each operation.
  llvm::SmallVector<int64_t> getProfile(llvm::ArrayRef<mlir::Operation *> order) const;
  int64_t getBytes(mlir::Value tensor, AssumedSizes sizes, SymbolicSizes &symbolic) const;

  /// Sizes of the symbols of the module.
  llvm::SmallVector<mlir::AffineExpr> symbols;
  /// The number of the memory of each tensor; none for what does not count.
  llvm::DenseMap<mlir::Value, unsigned> storages;
  /// By that number; 0 for memory of the caller.
  llvm::SmallVector<int64_t> bytes;
};

} // namespace bppsa

#endif // BPPSA_DIALECT_BPPSA_ANALYSIS_TENSORLIVENESS_H
