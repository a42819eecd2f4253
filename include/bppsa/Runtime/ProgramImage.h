//===- ProgramImage.h - Programs without a linker ---------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// Without a linker, a program is a copy of `bppsa-stub`, the run time as an executable, followed by
// an image: the objects, linked with each other at fixed addresses. At startup, the program maps
// the image to these addresses and patches in the addresses of run-time and C library functions.
//   stub | ImageHeader | ImageSegment... | ImageImport... | names | bytes of segments | ImageEnd
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_RUNTIME_PROGRAMIMAGE_H
#define BPPSA_RUNTIME_PROGRAMIMAGE_H

#include <cstdint>

namespace bppsa::runtime {

/// The base address of images, far from the addresses that Linux assigns to executables, heaps,
/// libraries and stacks.
constexpr uint64_t kImageAddress = uint64_t(1) << 45;

/// The program symbols that the run time needs (ObjectInterface.h), in the order of
/// ImageHeader::symbols.
constexpr const char *kImageSymbols[] = {
    "bppsa_model_json", "bppsa_model_json_size",  "bppsa_model_onnx", "bppsa_model_onnx_size",
    "bppsa_functions",  "bppsa_instruction_sets", "bppsa_kernels"};

struct ImageHeader {
  /// The size in bytes of the address range, starting at kImageAddress, that contains all segments.
  uint64_t span;
  uint64_t segments, imports, nameBytes;
  /// The addresses of kImageSymbols.
  uint64_t symbols[7];
};

/// `size` bytes, `offset` bytes after the start of the segment data, loaded at `address`, a
/// multiple of the page size. The rest of the last page is zero.
struct ImageSegment {
  uint64_t address, size, offset;
  /// The `prot` argument of mprotect().
  uint64_t protection;
};

/// The address at which to store a function pointer, and the offset of the function's
/// NUL-terminated name in the names.
struct ImageImport {
  uint64_t place, name;
};

/// The last bytes of the program: the offset of the image in the file.
struct ImageEnd {
  uint64_t offset;
  char magic[8];
};
constexpr char kImageMagic[9] = "BPPSAIMG";

} // namespace bppsa::runtime

#endif // BPPSA_RUNTIME_PROGRAMIMAGE_H
