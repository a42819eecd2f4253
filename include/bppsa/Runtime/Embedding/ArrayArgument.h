//===- ArrayArgument.h - Arrays of a caller ---------------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_RUNTIME_EMBEDDING_ARRAYARGUMENT_H
#define BPPSA_RUNTIME_EMBEDDING_ARRAYARGUMENT_H

#include "bppsa/Runtime/Model.h"

#include <cstddef>

namespace bppsa::runtime {

struct ArrayArgument {
  std::string name;
  void *data = nullptr;
  DType dtype = DType::F32;
  std::vector<int64_t> shape;
  /// In elements; empty if the array is contiguous in C order.
  std::vector<int64_t> strides;

  /// Returns true if compiled functions can access the memory directly as type `wanted`.
  bool isUsable(DType wanted) const;
  /// Copy to or from contiguous memory, without type conversion.
  void read(std::byte *to) const;
  void write(const std::byte *from) const;
};

using ArrayArguments = std::vector<ArrayArgument>;

/// Throws Error for a wrong type. Integer types are interchangeable.
void requireType(const ArrayArgument &argument, const ArrayInfo &info);

void requireValues(const Model &model, const ArrayInfo &info, const std::byte *values,
                   const std::vector<int64_t> &shape, const Symbols &symbols);

} // namespace bppsa::runtime

#endif // BPPSA_RUNTIME_EMBEDDING_ARRAYARGUMENT_H
