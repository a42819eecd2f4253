//===- Arrays.h - Python arrays for the C API -------------------*- C++ -*-===//
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

/// The named arrays of one call of the C API. Keeps the arrays alive and their addresses stable.
class CallArrays {
public:
  /// Adds all arrays of a dict, with `prefix` before each key. Null and None are skipped.
  void addAll(nanobind::handle arrays, const std::string &prefix = "");

  /// Adds `array`, any object with `__dlpack__` or the buffer protocol. If `isWritten`, it must not
  /// be read-only.
  void add(std::string name, nanobind::handle array, bool isWritten = false);

  /// Adds the arrays into which a call writes its results.
  void addWritten(nanobind::dict arrays);

  const BppsaNamedArray *data();
  intptr_t size() const { return static_cast<intptr_t>(named.size()); }

private:
  std::vector<nanobind::ndarray<nanobind::ro>> owners;
  // A deque keeps the addresses of its elements stable.
  std::deque<std::string> names;
  std::deque<DLTensor> tensors;
  std::vector<BppsaNamedArray> named;
};

/// Returns a NumPy array that owns `tensor`.
nanobind::object adopt(DLManagedTensor *tensor);

/// Returns a NumPy array that views `tensor`, which is in the memory of `owner`.
nanobind::object view(const DLTensor &tensor, nanobind::handle owner);

/// Returns the NumPy name of a type, such as "float32".
std::string nameType(DLDataType type);

} // namespace bppsa::python

#endif // BPPSA_PYTHON_NATIVE_ARRAYS_H
