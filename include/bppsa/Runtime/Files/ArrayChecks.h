//===- ArrayChecks.h - checks of the values in arrays ---------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_RUNTIME_FILES_ARRAYCHECKS_H
#define BPPSA_RUNTIME_FILES_ARRAYCHECKS_H

#include "bppsa/Runtime/Files/Npz.h"

#include <optional>

namespace bppsa::runtime {

/// "[2, 0, 5]": where element `flat` of an array of this shape is.
std::string position(int64_t flat, const std::vector<int64_t> &shape);

/// Each throws Error, naming the first element that is wrong.

/// Every element of a float32 array must be finite.
void requireFinite(const Array &array);
/// No element of a float32 array may be below 0.
void requireNoNegative(const Array &array);
/// Every element of an int32 or int64 array must be at least 0 and below `classes`, or `ignored`.
void requireClasses(const Array &array, int64_t classes, std::optional<int64_t> ignored = {});
/// Arrays of type `found` must be ones that convert() takes.
void requireConvertible(DType found, DType wanted);
/// The array with elements of type `wanted`. Integers become int32 or int64 where every value fits;
/// there are no other conversions.
Array convert(Array array, DType wanted);

} // namespace bppsa::runtime

#endif // BPPSA_RUNTIME_FILES_ARRAYCHECKS_H
