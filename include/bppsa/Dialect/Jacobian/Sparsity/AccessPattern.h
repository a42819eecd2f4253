//===- AccessPattern.h - Jacobian patterns from affine maps -----*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// An operation that is a loop nest over a box D reads element x(d) of an
// operand and contributes to element y(d) of its result at each point d. Where
// its transposed Jacobian can be nonzero is therefore {(x(d), y(d)) : d in D}:
// the pattern of a convolution, a pooling, a matrix product or an elementwise
// function comes out of its indexing maps alone.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_DIALECT_JACOBIAN_SPARSITY_ACCESSPATTERN_H
#define BPPSA_DIALECT_JACOBIAN_SPARSITY_ACCESSPATTERN_H

#include "bppsa/Dialect/Jacobian/Sparsity/SparsityPattern.h"
#include "mlir/IR/AffineMap.h"
#include "llvm/ADT/SmallVector.h"
#include <optional>

namespace bppsa {

/// One array that a loop nest reads or writes: the element that belongs to each
/// point, and the sizes of the array. Sizes of dimensions that samples run
/// along are not looked at.
struct ArrayAccess {
  mlir::AffineMap map;
  llvm::SmallVector<int64_t> shape;
};

/// A loop nest: the extents of its loops, and the loop over samples if there is
/// one. The extent of that loop is not looked at.
struct LoopNest {
  llvm::SmallVector<int64_t> extents;
  std::optional<unsigned> sampleLoop;
};

/// Whether the samples of both arrays are independent: each array is indexed by
/// the sample loop in one dimension alone, and nowhere else. Holds where there
/// is no sample loop.
bool isPerSample(const LoopNest &nest, mlir::AffineMap operand, mlir::AffineMap result);

/// The pattern of the transposed Jacobian of one sample: rows are the elements
/// of `operand`, columns those of `result`, in row-major order and without the
/// dimension of the samples. Exact: an element is an entry if and only if some
/// point of the nest relates the two. None where the samples are not
/// independent, a map has symbols, leaves its array, or a size is 2^31 or more.
std::optional<SparsityPattern> getAccessPattern(const LoopNest &nest, const ArrayAccess &operand,
                                                const ArrayAccess &result);

/// A pattern whose values are elements of an array that all samples share.
struct SharedValues {
  SparsityPattern pattern;
  /// For each entry, the element of the shared array, in row-major order.
  std::vector<int32_t> sources;
};

/// The pattern of a product of `operand` and `factor`, with the element of
/// `factor` that is the value of each entry. None where several points give the
/// same entry, `factor` is not indexed by distinct loops, or as for
/// `getAccessPattern`. Rows with the same entries are found once.
std::optional<SharedValues> getSharedValues(const LoopNest &nest, const ArrayAccess &operand,
                                            const ArrayAccess &result, const ArrayAccess &factor);

/// The same with only those entries whose element of `factor` is accepted by
/// `isNonzero`. None also where a map is not linear. Takes time in the accepted
/// elements.
std::optional<SharedValues> getPrunedValues(const LoopNest &nest, const ArrayAccess &operand,
                                            const ArrayAccess &result, const ArrayAccess &factor,
                                            llvm::function_ref<bool(int64_t)> isNonzero);

} // namespace bppsa

#endif // BPPSA_DIALECT_JACOBIAN_SPARSITY_ACCESSPATTERN_H
