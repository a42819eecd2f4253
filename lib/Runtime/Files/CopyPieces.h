//===- CopyPieces.h - Strided row copies ----------------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_RUNTIME_FILES_COPYPIECES_H
#define BPPSA_LIB_RUNTIME_FILES_COPYPIECES_H

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace bppsa::runtime {

/// The fixed size inlines memcpy.
template <size_t bytes>
void copyRows(std::byte *to, const std::byte *from, int64_t rows, int64_t toStep,
              int64_t fromStep) {
  for (int64_t row = 0; row < rows; ++row)
    memcpy(to + row * toStep, from + row * fromStep, bytes);
}

inline void copyPieces(std::byte *to, const std::byte *from, int64_t rows, int64_t bytes,
                       int64_t toStep, int64_t fromStep) {
  if (bytes == toStep && bytes == fromStep)
    memcpy(to, from, rows * bytes);
  else if (bytes == 4)
    copyRows<4>(to, from, rows, toStep, fromStep);
  else if (bytes == 8)
    copyRows<8>(to, from, rows, toStep, fromStep);
  else if (bytes == 16)
    copyRows<16>(to, from, rows, toStep, fromStep);
  else if (bytes == 32)
    copyRows<32>(to, from, rows, toStep, fromStep);
  else if (bytes == 64)
    copyRows<64>(to, from, rows, toStep, fromStep);
  else
    for (int64_t row = 0; row < rows; ++row)
      memcpy(to + row * toStep, from + row * fromStep, bytes);
}

} // namespace bppsa::runtime

#endif // BPPSA_LIB_RUNTIME_FILES_COPYPIECES_H
