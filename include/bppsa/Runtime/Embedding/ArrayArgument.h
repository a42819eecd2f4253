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

/// A named array in memory of the embedding program.
struct ArrayArgument {
  std::string name;
  void *data = nullptr;
  DType dtype = DType::F32;
  std::vector<int64_t> shape;
  /// In elements; empty if the array is contiguous in C order.
  std::vector<int64_t> strides;

  /// Returns true if compiled functions can access the memory directly as an array of type
  /// `wanted`.
  bool isUsable(DType wanted) const;
  /// Copy the elements to or from contiguous memory in C order, without type conversion.
  void read(std::byte *to) const;
  void write(const std::byte *from) const;
};

using ArrayArguments = std::vector<ArrayArgument>;

/// Throws Error if the type of `argument` does not match `info`. Integer types are interchangeable.
void requireType(const ArrayArgument &argument, const ArrayInfo &info);

/// Throws Error if the model does not accept a value of a contiguous array in C order, given the
/// sizes in `symbols`.
void requireValues(const Model &model, const ArrayInfo &info, const std::byte *values,
                   const std::vector<int64_t> &shape, const Symbols &symbols);

} // namespace bppsa::runtime

#endif // BPPSA_RUNTIME_EMBEDDING_ARRAYARGUMENT_H
