//===- Array.h - values of the reference interpreter ------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_REFERENCE_ARRAY_H
#define BPPSA_REFERENCE_ARRAY_H

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Types.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include <string>
#include <utility>
#include <vector>

namespace bppsa {

/// A scalar (rank 0), vector, tensor or Jacobian. Floats of every width are stored as double;
/// indices and integers of every width are stored as int64_t, sign-extended, except i1, which is 0
/// or 1. Elements are in row-major order.
struct Array {
  llvm::SmallVector<int64_t, 4> shape;
  bool isFloat = true;
  /// Elements of a float array; empty for integers.
  std::vector<double> reals;
  /// Elements of an integer array; empty for floats.
  std::vector<int64_t> integers;

  static Array makeScalar(double value);
  static Array makeIndex(int64_t value);
  /// Returns an array of NaN or of an arbitrary integer, so that reads of uninitialized memory
  /// become visible.
  static Array makeUninitialized(llvm::ArrayRef<int64_t> shape, bool isFloat);
  static Array makeZeros(llvm::ArrayRef<int64_t> shape, bool isFloat = true);
  /// Returns the value of a constant; nullopt if `attribute` is not numeric.
  static std::optional<Array> fromAttribute(mlir::TypedAttr attribute);

  int64_t getRank() const { return static_cast<int64_t>(shape.size()); }
  int64_t getNumElements() const;
  /// Returns the row-major position of the element `index`.
  int64_t getPosition(llvm::ArrayRef<int64_t> index) const;
  /// Copies element `from` of `source` to element `to`. Both arrays must be floats or both
  /// integers.
  void copyElement(int64_t to, const Array &source, int64_t from);
  /// Returns the `count` elements starting at `first`, as an array of `shape`.
  Array slice(int64_t first, llvm::ArrayRef<int64_t> shape) const;
};

/// The arrays of an archive.
using NamedArrays = std::vector<std::pair<std::string, Array>>;

/// Returns the shape of a value of `type`, including dynamic sizes. Scalars have rank 0; a Jacobian
/// has the shape of its dense tensor.
llvm::SmallVector<int64_t, 4> getValueShape(mlir::Type type);
/// Returns whether values of `type` are floats.
bool isFloatValue(mlir::Type type);
/// Calls `body` with every index of `shape`, in row-major order.
void forEachElementIndex(llvm::ArrayRef<int64_t> shape,
                         llvm::function_ref<void(llvm::ArrayRef<int64_t>)> body);

} // namespace bppsa

#endif // BPPSA_REFERENCE_ARRAY_H
