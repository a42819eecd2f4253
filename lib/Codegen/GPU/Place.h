//===- Place.h - vectors in memory ------------------------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_CODEGEN_GPU_PLACE_H
#define BPPSA_LIB_CODEGEN_GPU_PLACE_H

#include "mlir/IR/Builders.h"

namespace bppsa {

/// Row n of the vector is `memref[prefix..., start + first + n]`.
struct Place {
  mlir::Value memref;
  llvm::SmallVector<mlir::Value, 3> prefix;
  int64_t first = 0;
  mlir::Value start = nullptr;

  mlir::Value load(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value row) const;
  void store(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value value,
             mlir::Value row) const;
  llvm::SmallVector<mlir::Value> getIndices(mlir::OpBuilder &builder, mlir::Location loc,
                                            mlir::Value row) const;
  Place dropFront(int64_t count) const { return {memref, prefix, first + count, start}; }
};

} // namespace bppsa

#endif // BPPSA_LIB_CODEGEN_GPU_PLACE_H
