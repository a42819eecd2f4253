//===- Arrays.h - DLPack arrays of Python for the C API ---------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_PYTHON_NATIVE_ARRAYS_H
#define BPPSA_PYTHON_NATIVE_ARRAYS_H

#include "bppsa-c/Program.h"
#include <deque>
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <string>
#include <vector>

namespace bppsa::python {

/// The named arrays of one call of the C API, which are kept alive and where they are.
class CallArrays {
public:
  /// Adds every array of a dict, under its key with `prefix` in front. Null and None are no arrays.
  void addAll(nanobind::handle arrays, const std::string &prefix = "");

  /// Adds `array`, which is any object with `__dlpack__` or the buffer protocol. Where
  /// `isWritten`, it must not be read-only.
  void add(std::string name, nanobind::handle array, bool isWritten = false);

  /// The arrays in which a call leaves its results.
  void addWritten(nanobind::dict arrays);

  const BppsaNamedArray *data();
  intptr_t size() const { return static_cast<intptr_t>(named.size()); }

private:
  std::vector<nanobind::ndarray<nanobind::ro>> owners;
  // In these, elements stay where they are.
  std::deque<std::string> names;
  std::deque<DLTensor> tensors;
  std::vector<BppsaNamedArray> named;
};

/// A NumPy array over `tensor`, which it frees.
nanobind::object adopt(DLManagedTensor *tensor);

/// A NumPy array over the memory of `owner` that `tensor` describes.
nanobind::object view(const DLTensor &tensor, nanobind::handle owner);

/// "float32", as NumPy writes it.
std::string nameType(DLDataType type);

} // namespace bppsa::python

#endif // BPPSA_PYTHON_NATIVE_ARRAYS_H
