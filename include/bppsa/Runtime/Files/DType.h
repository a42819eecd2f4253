//===- DType.h - Element types of arrays ----------------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_RUNTIME_FILES_DTYPE_H
#define BPPSA_RUNTIME_FILES_DTYPE_H

#include <cstddef>
#include <string>

namespace bppsa::runtime {

enum class DType { F16, F32, F64, I8, I16, I32, I64, U8, U16, U32, U64, Bool };

size_t elementSize(DType dtype);
/// "float32"
const char *numpyName(DType dtype);
/// The type string of a .npy header: "<f4".
const char *npyDescr(DType dtype);
bool isInteger(DType dtype);

DType dtypeOfNpy(const std::string &descr);
/// Parses f32, i64, i32 or i1 (bool).
DType dtypeOfModel(const std::string &name);

} // namespace bppsa::runtime

#endif // BPPSA_RUNTIME_FILES_DTYPE_H
