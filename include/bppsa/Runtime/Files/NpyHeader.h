//===- NpyHeader.h - Headers of .npy arrays -------------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_RUNTIME_FILES_NPYHEADER_H
#define BPPSA_RUNTIME_FILES_NPYHEADER_H

#include "bppsa/Runtime/Files/DType.h"

#include <cstdint>
#include <string>
#include <vector>

namespace bppsa::runtime {

struct NpyHeader {
  DType dtype = DType::F32;
  bool fortranOrder = false;
  std::vector<int64_t> shape;
};

NpyHeader parseNpyHeader(const std::string &text);

std::string npyHeader(DType dtype, const std::vector<int64_t> &shape);

} // namespace bppsa::runtime

#endif // BPPSA_RUNTIME_FILES_NPYHEADER_H
