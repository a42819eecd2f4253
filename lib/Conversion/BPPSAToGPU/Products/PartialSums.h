//===- PartialSums.h - sums that blocks have made of parts ------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_CONVERSION_BPPSATOGPU_PRODUCTS_PARTIALSUMS_H
#define BPPSA_LIB_CONVERSION_BPPSATOGPU_PRODUCTS_PARTIALSUMS_H

#include "../Steps/RowEvaluator.h"

namespace bppsa {

/// Sums over the parts of a whole, `[parts, size]` in device memory, and the launch
/// that adds them up. The order of additions depends on the number of parts alone.
class PartialSums {
public:
  /// Memory for `numParts` parts of `size` elements, to be freed.
  static PartialSums allocate(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value numParts,
                              int64_t size, mlir::Type element);

  void deallocate(mlir::OpBuilder &builder) const;
  /// The sums of `parts` `[K, B, size]`, each of K * B.
  static PartialSums get(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value parts);

  Place getPart(mlir::Value part) const { return {memref, {part}}; }
  mlir::Value load(mlir::OpBuilder &builder, mlir::Value part, mlir::Value position) const;
  void store(mlir::OpBuilder &builder, mlir::Value part, mlir::Value position,
             mlir::Value sum) const;

  /// Launches threads that add the parts up and give each total to
  /// `write(position, total)`.
  void
  launchTotals(mlir::OpBuilder &builder,
               llvm::function_ref<void(mlir::OpBuilder &, mlir::Value position, mlir::Value total)>
                   write) const;
  /// Writes the totals to `sums`, vectors or matrices, which parts have one after the other, each
  /// column by column.
  void launchTotals(mlir::OpBuilder &builder, mlir::ValueRange sums) const;

private:
  mlir::Value sumSlice(mlir::OpBuilder &builder, mlir::Value slice, mlir::Value position) const;
  void foldSlices(mlir::OpBuilder &builder, mlir::Value sums, mlir::Value slice,
                  mlir::Value element) const;

  PartialSums(mlir::Location loc, mlir::Value numParts, int64_t size)
      : loc(loc), numParts(numParts), size(size) {}

  mlir::Location loc;
  mlir::Value memref, numParts;
  int64_t size;
};

} // namespace bppsa

#endif // BPPSA_LIB_CONVERSION_BPPSATOGPU_PRODUCTS_PARTIALSUMS_H
