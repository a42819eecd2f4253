//===- ProgramImage.h - Programs without a linker ---------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// Where there is no linker, a program is a copy of `bppsa-stub`, the run time as an executable,
// with an image behind it: the objects, linked with each other for fixed addresses. At its start
// the program maps the image there and writes the addresses of the functions of the run time and of
// the C library into it.
//
//   stub | ImageHeader | ImageSegment... | ImageImport... | names | bytes of segments | ImageEnd
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_RUNTIME_PROGRAMIMAGE_H
#define BPPSA_RUNTIME_PROGRAMIMAGE_H

#include <cstdint>

namespace bppsa::runtime {

/// Where images are mapped: far from where Linux puts executables, heaps, libraries and stacks.
constexpr uint64_t kImageAddress = uint64_t(1) << 45;

/// The symbols of a program that the run time needs (ObjectInterface.h), in the order of `symbols`.
constexpr const char *kImageSymbols[] = {
    "bppsa_model_json", "bppsa_model_json_size",  "bppsa_model_onnx", "bppsa_model_onnx_size",
    "bppsa_functions",  "bppsa_instruction_sets", "bppsa_kernels"};

struct ImageHeader {
  /// Bytes from imageAddress on that the segments are in.
  uint64_t span;
  uint64_t segments, imports, nameBytes;
  /// Their addresses.
  uint64_t symbols[7];
};

/// Bytes of the image from `offset` on, at `address`, a multiple of the page size. What is beyond
/// them is zero.
struct ImageSegment {
  uint64_t address, size, offset;
  /// As mprotect() takes it.
  uint64_t protection;
};

/// The place of the address of a function, whose name begins at `name` of the names and ends with
/// NUL.
struct ImageImport {
  uint64_t place, name;
};

/// The last bytes of the program: where in the file its image begins.
struct ImageEnd {
  uint64_t offset;
  char magic[8];
};
constexpr char kImageMagic[9] = "BPPSAIMG";

} // namespace bppsa::runtime

#endif // BPPSA_RUNTIME_PROGRAMIMAGE_H
