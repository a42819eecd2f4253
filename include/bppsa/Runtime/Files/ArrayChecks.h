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

/// Formats a multi-index: "[2, 0, 5]". `begin` is the array's offset in a larger one.
std::string position(int64_t flat, const std::vector<int64_t> &shape,
                     const std::vector<int64_t> &begin = {});

using Position = std::function<std::string(int64_t)>;

/// The following functions throw Error, naming the first invalid value.

void requireFinite(const float *values, int64_t count, const Position &position);
void requireNoNegative(const float *values, int64_t count, const Position &position);
/// Requires integers in [0, `classes`), or `ignored`.
void requireClasses(const std::byte *values, DType dtype, int64_t count, int64_t classes,
                    std::optional<int64_t> ignored, const Position &position);
void requireBetween(const std::byte *values, DType dtype, int64_t count, int64_t least,
                    int64_t most, const char *meaning, const Position &position);
void requireConvertible(DType found, DType wanted);
/// Converts integers to int32 or int64, or float16 to float32.
void convert(const std::byte *from, DType found, std::byte *to, DType wanted, int64_t count,
             const Position &position);

} // namespace bppsa::runtime

#endif // BPPSA_RUNTIME_FILES_ARRAYCHECKS_H
