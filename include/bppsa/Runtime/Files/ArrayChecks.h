//===- ArrayChecks.h - Checks of the values in arrays ---------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_RUNTIME_FILES_ARRAYCHECKS_H
#define BPPSA_RUNTIME_FILES_ARRAYCHECKS_H

#include "bppsa/Runtime/Files/Npz.h"

#include <functional>
#include <optional>

namespace bppsa::runtime {

/// Formats the multi-index of element `flat` of an array of this shape: "[2, 0, 5]". If the array
/// is part of a larger one, `begin` is its offset there.
std::string position(int64_t flat, const std::vector<int64_t> &shape,
                     const std::vector<int64_t> &begin = {});

/// Formats the position of element `i`.
using Position = std::function<std::string(int64_t)>;

/// The following functions throw Error, naming the first of `count` values that is invalid.

void requireFinite(const float *values, int64_t count, const Position &position);
void requireNoNegative(const float *values, int64_t count, const Position &position);
/// Requires int32 or int64 values in [0, `classes`), or equal to `ignored`.
void requireClasses(const std::byte *values, DType dtype, int64_t count, int64_t classes,
                    std::optional<int64_t> ignored, const Position &position);
/// Requires int32 or int64 values in [least, most]. `meaning` describes how the model uses them.
void requireBetween(const std::byte *values, DType dtype, int64_t count, int64_t least,
                    int64_t most, const char *meaning, const Position &position);
void requireConvertible(DType found, DType wanted);
/// Converts `count` integers to int32 or int64, or float16 to float32. Throws Error if a value does
/// not fit.
void convert(const std::byte *from, DType found, std::byte *to, DType wanted, int64_t count,
             const Position &position);

} // namespace bppsa::runtime

#endif // BPPSA_RUNTIME_FILES_ARRAYCHECKS_H
