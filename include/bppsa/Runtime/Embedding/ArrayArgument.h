//===- ArrayArgument.h - arrays of a caller -----------------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_RUNTIME_EMBEDDING_ARRAYARGUMENT_H
#define BPPSA_RUNTIME_EMBEDDING_ARRAYARGUMENT_H

#include "bppsa/Runtime/Model.h"

#include <cstddef>

namespace bppsa::runtime {

/// Memory of the program that this library is embedded in, to be read or written under a name.
struct ArrayArgument {
  std::string name;
  void *data = nullptr;
  DType dtype = DType::F32;
  std::vector<int64_t> shape;
  /// In elements; empty where the array is compact and in C order.
  std::vector<int64_t> strides;

  /// Whether compiled functions can use the memory as it is for an array of type `wanted`.
  bool isUsable(DType wanted) const;
  /// Copies the elements to and from compact memory in C order of the array's own type.
  void read(std::byte *to) const;
  void write(const std::byte *from) const;
};

using ArrayArguments = std::vector<ArrayArgument>;

/// Throws Error where `argument` is of another type than `info`.
void requireType(const ArrayArgument &argument, const ArrayInfo &info);

/// Throws Error where a value of a compact array in C order is none that the model takes, by the
/// sizes of `symbols`.
void requireValues(const Model &model, const ArrayInfo &info, const std::byte *values,
                   const std::vector<int64_t> &shape, const Symbols &symbols);

} // namespace bppsa::runtime

#endif // BPPSA_RUNTIME_EMBEDDING_ARRAYARGUMENT_H
