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

/// Stores floats as double and integers as sign-extended int64_t, except i1, which is 0 or 1.
/// Row-major.
struct Array {
  llvm::SmallVector<int64_t, 4> shape;
  bool isFloat = true;
  std::vector<double> reals;
  std::vector<int64_t> integers;

  static Array makeScalar(double value);
  static Array makeIndex(int64_t value);
  /// Returns NaN or an arbitrary integer, to expose uninitialized reads.
  static Array makeUninitialized(llvm::ArrayRef<int64_t> shape, bool isFloat);
  static Array makeZeros(llvm::ArrayRef<int64_t> shape, bool isFloat = true);
  /// Returns nullopt if `attribute` is not numeric.
  static std::optional<Array> fromAttribute(mlir::TypedAttr attribute);

  int64_t getRank() const { return static_cast<int64_t>(shape.size()); }
  int64_t getNumElements() const;
  int64_t getPosition(llvm::ArrayRef<int64_t> index) const;
  /// Both arrays must be floats, or both integers.
  void copyElement(int64_t to, const Array &source, int64_t from);
  /// Returns the elements from `first` on as an array of `shape`.
  Array slice(int64_t first, llvm::ArrayRef<int64_t> shape) const;
};

using NamedArrays = std::vector<std::pair<std::string, Array>>;

/// The shape includes dynamic sizes. Scalars have rank 0; a Jacobian has the shape of its dense
/// tensor.
llvm::SmallVector<int64_t, 4> getValueShape(mlir::Type type);
bool isFloatValue(mlir::Type type);
void forEachElementIndex(llvm::ArrayRef<int64_t> shape,
                         llvm::function_ref<void(llvm::ArrayRef<int64_t>)> body);

} // namespace bppsa

#endif // BPPSA_REFERENCE_ARRAY_H
