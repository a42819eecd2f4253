//===- AccessPattern.h - Jacobian patterns from affine maps -----*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// A loop nest that reads x(d) and contributes to y(d) at points d of D has a transposed Jacobian
// that is zero outside of {(x(d), y(d)) : d in D}.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_DIALECT_JACOBIAN_SPARSITY_ACCESSPATTERN_H
#define BPPSA_DIALECT_JACOBIAN_SPARSITY_ACCESSPATTERN_H

#include "bppsa/Dialect/Jacobian/Sparsity/SparsityPattern.h"
#include "mlir/IR/AffineMap.h"
#include "llvm/ADT/SmallVector.h"
#include <optional>

namespace bppsa {

/// Map from loop indices to array indices, and the shape; sample dimensions have any size.
struct ArrayAccess {
  mlir::AffineMap map;
  llvm::SmallVector<int64_t> shape;
};

/// Loop extents and the loop over samples, if any, whose extent is ignored.
struct LoopNest {
  llvm::SmallVector<int64_t> extents;
  std::optional<unsigned> sampleLoop;
};

/// True if samples are independent: the sample loop indexes exactly one dimension of each array and
/// appears in no other index. Also true without a sample loop.
bool isPerSample(const LoopNest &nest, mlir::AffineMap operand, mlir::AffineMap result);

/// Returns the exact pattern for one sample: rows are elements of `operand`, columns elements of
/// `result`, in row-major order without the sample dimension. Returns nullopt if samples mix, a map
/// has symbols or is out of bounds, or a size is 2^31 or more.
std::optional<SparsityPattern> getAccessPattern(const LoopNest &nest, const ArrayAccess &operand,
                                                const ArrayAccess &result);

/// Values are elements of an array shared by all samples.
struct SharedValues {
  SparsityPattern pattern;
  /// Row-major index of each value in the shared array.
  std::vector<int32_t> sources;
};

/// Returns the pattern of a product of `operand` and `factor`, and the element of `factor` of each
/// entry. Returns nullopt if several points give one entry, if `factor` is not indexed by distinct
/// loops, or as `getAccessPattern` does.
std::optional<SharedValues> getSharedValues(const LoopNest &nest, const ArrayAccess &operand,
                                            const ArrayAccess &result, const ArrayAccess &factor);

/// Like `getSharedValues`, for elements of `factor` that satisfy `isNonzero`, in time proportional
/// to their number. Also returns nullopt if a map is not linear.
std::optional<SharedValues> getPrunedValues(const LoopNest &nest, const ArrayAccess &operand,
                                            const ArrayAccess &result, const ArrayAccess &factor,
                                            llvm::function_ref<bool(int64_t)> isNonzero);

} // namespace bppsa

#endif // BPPSA_DIALECT_JACOBIAN_SPARSITY_ACCESSPATTERN_H
