//===- FragmentLayout.h - fragments of tensor core tiles --------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// A warp multiplies tiles with `mma.sync.m16n8k8`, or `mma.sync.m16n8k16` for bf16. The PTX ISA
// ("Matrix Fragments for mma.m16n8k8", "... m16n8k16") defines the elements of each thread.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_CODEGEN_GPU_FRAGMENTLAYOUT_H
#define BPPSA_LIB_CODEGEN_GPU_FRAGMENTLAYOUT_H

#include "Launch.h"
#include "bppsa/Support/TensorPrecision.h"

namespace bppsa {

/// Positions of a thread's elements of A, B and C in the tiles of a product `C + A B`.
class FragmentLayout {
public:
  static constexpr int64_t kRows = cost::kTileRows, kColumns = cost::kTileColumns;
  /// Elements of C per thread; groups per warp, each of which shares a row of A and C; threads per
  /// group.
  static constexpr int64_t kEntries = 4, kGroups = 8, kGroupThreads = 4;
  using Read =
      llvm::function_ref<mlir::Value(mlir::OpBuilder &, mlir::Value row, mlir::Value column)>;

  /// The layout of thread `inGroup` in group `group` of a warp.
  FragmentLayout(mlir::Location loc, TensorPrecision precision, mlir::Value group,
                 mlir::Value inGroup)
      : loc(loc), precision(precision), group(group), inGroup(inGroup) {}

  /// Returns the elements of A or B, in the order of the instruction's registers.
  llvm::SmallVector<mlir::Value> readA(mlir::OpBuilder &builder, Read read) const;
  llvm::SmallVector<mlir::Value> readB(mlir::OpBuilder &builder, Read read) const;
  mlir::Value getRow(mlir::OpBuilder &builder, int64_t i) const;
  mlir::Value getColumn(mlir::OpBuilder &builder, int64_t i) const;

private:
  llvm::SmallVector<mlir::Value>
  readFactor(mlir::OpBuilder &builder, llvm::ArrayRef<int64_t> rows,
             llvm::function_ref<mlir::Value(int64_t row, mlir::Value depth)> read) const;

  mlir::Location loc;
  TensorPrecision precision;
  mlir::Value group, inGroup;
};

} // namespace bppsa

#endif // BPPSA_LIB_CODEGEN_GPU_FRAGMENTLAYOUT_H
