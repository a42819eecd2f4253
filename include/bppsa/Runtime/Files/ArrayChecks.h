//===- ArrayChecks.h - checks of the values in arrays ---------------------===//
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

/// "[2, 0, 5]": where element `flat` of an array of this shape is; of a part of an array that
/// begins at `begin`, where that is not empty, where it is in the whole.
std::string position(int64_t flat, const std::vector<int64_t> &shape,
                     const std::vector<int64_t> &begin = {});

/// Says where element `i` of some values is, as position() does.
using Position = std::function<std::string(int64_t)>;

/// Each throws Error, naming the first of `count` values that is wrong.

/// Every value must be finite.
void requireFinite(const float *values, int64_t count, const Position &position);
/// No value may be below 0.
void requireNoNegative(const float *values, int64_t count, const Position &position);
/// Every value, int32 or int64, must be at least 0 and below `classes`, or `ignored`.
void requireClasses(const std::byte *values, DType dtype, int64_t count, int64_t classes,
                    std::optional<int64_t> ignored, const Position &position);
/// Every value, int32 or int64, must be in [least, most]; `meaning` says what the model takes it
/// as.
void requireBetween(const std::byte *values, DType dtype, int64_t count, int64_t least,
                    int64_t most, const char *meaning, const Position &position);
/// Arrays of type `found` must be ones that convert() takes.
void requireConvertible(DType found, DType wanted);
/// Writes `count` integers of type `found` as int32 or int64, in which every one must fit.
void convert(const std::byte *from, DType found, std::byte *to, DType wanted, int64_t count,
             const Position &position);

} // namespace bppsa::runtime

#endif // BPPSA_RUNTIME_FILES_ARRAYCHECKS_H
