//===- AccessPattern.h - Jacobian patterns from affine maps -----*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// A loop nest reads operand element x(d) and contributes to result element y(d) at each point d of
// its iteration space D. Its transposed Jacobian is therefore zero outside of {(x(d), y(d)) : d in
// D}. This gives the patterns of convolutions, pooling, matrix products and elementwise functions.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_DIALECT_JACOBIAN_SPARSITY_ACCESSPATTERN_H
#define BPPSA_DIALECT_JACOBIAN_SPARSITY_ACCESSPATTERN_H

#include "bppsa/Dialect/Jacobian/Sparsity/SparsityPattern.h"
#include "mlir/IR/AffineMap.h"
#include "llvm/ADT/SmallVector.h"
#include <optional>

namespace bppsa {

/// An array that a loop nest accesses: the map from loop indices to array indices, and the shape.
/// The sizes of sample dimensions are ignored.
struct ArrayAccess {
  mlir::AffineMap map;
  llvm::SmallVector<int64_t> shape;
};

/// A loop nest: the extents of its loops and the loop over samples, if any. The extent of the
/// sample loop is ignored.
struct LoopNest {
  llvm::SmallVector<int64_t> extents;
  std::optional<unsigned> sampleLoop;
};

/// Returns true if the samples of both arrays are independent: the sample loop indexes exactly one
/// dimension of each array and appears in no other index. Also true without a sample loop.
bool isPerSample(const LoopNest &nest, mlir::AffineMap operand, mlir::AffineMap result);

/// Returns the exact pattern of the transposed Jacobian of one sample. Rows are the elements of
/// `operand` and columns are the elements of `result`, in row-major order without the sample
/// dimension. Returns nullopt if the samples are not independent, a map has symbols or indexes out
/// of bounds, or a size is 2^31 or more.
std::optional<SparsityPattern> getAccessPattern(const LoopNest &nest, const ArrayAccess &operand,
                                                const ArrayAccess &result);

/// A pattern whose values are elements of an array shared by all samples.
struct SharedValues {
  SparsityPattern pattern;
  /// For each entry, the row-major index of its value in the shared array.
  std::vector<int32_t> sources;
};

/// Returns the pattern of a product of `operand` and `factor`, and the element of `factor` that is
/// the value of each entry. Equal rows are computed once. Returns nullopt if several points give
/// the same entry, if `factor` is not indexed by distinct loops, or under the conditions of
/// `getAccessPattern`.
std::optional<SharedValues> getSharedValues(const LoopNest &nest, const ArrayAccess &operand,
                                            const ArrayAccess &result, const ArrayAccess &factor);

/// Like `getSharedValues`, but keeps only entries whose element of `factor` satisfies `isNonzero`.
/// Also returns nullopt if a map is not linear. The run time is proportional to the number of kept
/// elements.
std::optional<SharedValues> getPrunedValues(const LoopNest &nest, const ArrayAccess &operand,
                                            const ArrayAccess &result, const ArrayAccess &factor,
                                            llvm::function_ref<bool(int64_t)> isNonzero);

} // namespace bppsa

#endif // BPPSA_DIALECT_JACOBIAN_SPARSITY_ACCESSPATTERN_H
