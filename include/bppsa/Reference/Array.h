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

/// A scalar (rank 0), vector, tensor or Jacobian. Floats of every width are
/// doubles; integers of every width, sign-extended, and indices are int64_t;
/// i1 is 0 or 1. Elements are in row-major order.
struct Array {
  llvm::SmallVector<int64_t, 4> shape;
  bool isFloat = true;
  /// Elements of a float array; empty for integers.
  std::vector<double> reals;
  /// Elements of an integer array; empty for floats.
  std::vector<int64_t> integers;

  static Array makeScalar(double value);
  static Array makeIndex(int64_t value);
  /// An array of NaN, or of a number that no test expects: reading memory that
  /// nobody wrote must not go unnoticed.
  static Array makeUninitialized(llvm::ArrayRef<int64_t> shape, bool isFloat);
  static Array makeZeros(llvm::ArrayRef<int64_t> shape, bool isFloat = true);
  /// The value of a constant; null where `attribute` is no number.
  static std::optional<Array> fromAttribute(mlir::TypedAttr attribute);

  int64_t getRank() const { return static_cast<int64_t>(shape.size()); }
  int64_t getNumElements() const;
  /// Position of the element `index` in row-major order.
  int64_t getPosition(llvm::ArrayRef<int64_t> index) const;
  /// Copies element `from` of `source` to element `to`; both have one kind.
  void copyElement(int64_t to, const Array &source, int64_t from);
  /// The `count` elements from `first` on, as an array of `shape`.
  Array slice(int64_t first, llvm::ArrayRef<int64_t> shape) const;
};

/// The arrays of an archive.
using NamedArrays = std::vector<std::pair<std::string, Array>>;

/// The shape of the value of `type`, dynamic sizes included; scalars have rank
/// 0 and a Jacobian the shape of its dense tensor.
llvm::SmallVector<int64_t, 4> getValueShape(mlir::Type type);
/// Whether values of `type` are floats.
bool isFloatValue(mlir::Type type);
/// Calls `body` with every index of `shape`, in row-major order.
void forEachElementIndex(llvm::ArrayRef<int64_t> shape,
                         llvm::function_ref<void(llvm::ArrayRef<int64_t>)> body);

} // namespace bppsa

#endif // BPPSA_REFERENCE_ARRAY_H
