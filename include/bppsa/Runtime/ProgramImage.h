//===- ProgramImage.h - Programs without a linker ---------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// Without a linker, a program is a copy of `bppsa-stub` followed by an image: objects linked at
// fixed addresses, mapped and patched at startup.
//   stub | ImageHeader | ImageSegment... | ImageImport... | names | bytes of segments | ImageEnd
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_RUNTIME_PROGRAMIMAGE_H
#define BPPSA_RUNTIME_PROGRAMIMAGE_H

#include <cstdint>

namespace bppsa::runtime {

/// Far from the addresses that Linux assigns to executables, heaps, libraries and stacks.
constexpr uint64_t kImageAddress = uint64_t(1) << 45;

constexpr const char *kImageSymbols[] = {
    "bppsa_model_json", "bppsa_model_json_size",  "bppsa_model_onnx", "bppsa_model_onnx_size",
    "bppsa_functions",  "bppsa_instruction_sets", "bppsa_kernels"};

struct ImageHeader {
  /// The bytes from kImageAddress to the end of all segments.
  uint64_t span;
  uint64_t segments, imports, nameBytes;
  uint64_t symbols[7];
};

/// `size` bytes, at `offset` in the segment data, loaded at the page-aligned `address`; the rest of
/// the last page is zero.
struct ImageSegment {
  uint64_t address, size, offset;
  /// The `prot` argument of mprotect().
  uint64_t protection;
};

/// The address at which to store a function pointer, and the offset of its name.
struct ImageImport {
  uint64_t place, name;
};

/// The last bytes of the program, with the file offset of the image.
struct ImageEnd {
  uint64_t offset;
  char magic[8];
};
constexpr char kImageMagic[9] = "BPPSAIMG";

} // namespace bppsa::runtime

#endif // BPPSA_RUNTIME_PROGRAMIMAGE_H
