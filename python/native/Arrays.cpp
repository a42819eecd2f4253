//===- Arrays.cpp - converts Python arrays for the C API ------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "Arrays.h"
#include "Errors.h"
#include <nanobind/stl/string.h>

namespace nb = nanobind;
using namespace bppsa::python;

static std::string typeName(nb::handle object) {
  return nb::cast<std::string>(nb::type_name(object.type()));
}

void CallArrays::add(std::string name, nb::handle array, bool isWritten) {
  nb::ndarray<nb::ro> owner;
  bool isArray = nb::try_cast(array, owner, /*convert=*/false);
  // PyTorch tensors that require gradients do not export their memory.
  if (!isArray && nb::hasattr(array, "detach"))
    isArray = nb::try_cast(array.attr("detach")(), owner, /*convert=*/false);
  if (!isArray)
    raise(BppsaWrongInput, "array '" + name + "' must support DLPack, as those of NumPy, PyTorch " +
                               "and JAX do, found " + typeName(array) +
                               "; numpy.asarray makes one of lists and numbers");
  nb::ndarray<> writable;
  if (isWritten && !nb::try_cast(array, writable, /*convert=*/false))
    raise(BppsaWrongInput, "array '" + name + "' must be writable, found a read-only one");
  nb::dlpack::dtype type = owner.dtype();
  DLTensor tensor = {};
  tensor.data = const_cast<void *>(owner.data());
  tensor.device = {static_cast<DLDeviceType>(owner.device_type()), owner.device_id()};
  tensor.ndim = static_cast<int32_t>(owner.ndim());
  tensor.dtype = {type.code, type.bits, type.lanes};
  tensor.shape = const_cast<int64_t *>(owner.shape_ptr());
  tensor.strides = const_cast<int64_t *>(owner.stride_ptr());
  owners.push_back(std::move(owner));
  names.push_back(std::move(name));
  tensors.push_back(tensor);
}

void CallArrays::addAll(nb::handle arrays, const std::string &prefix) {
  for (auto [name, array] : nb::borrow<nb::dict>(arrays))
    if (!array.is_none())
      add(prefix + nb::cast<std::string>(name), array);
}

void CallArrays::addWritten(nb::dict arrays) {
  for (auto [name, array] : arrays)
    add(nb::cast<std::string>(name), array, /*isWritten=*/true);
}

const BppsaNamedArray *CallArrays::data() {
  named.clear();
  for (size_t i = 0; i < names.size(); ++i)
    named.push_back({names[i].c_str(), &tensors[i]});
  return named.data();
}

static nb::object toNumPy(const DLTensor &tensor, nb::handle owner) {
  auto *data = static_cast<char *>(tensor.data) + tensor.byte_offset;
  std::vector<size_t> shape(tensor.shape, tensor.shape + tensor.ndim);
  nb::dlpack::dtype type{tensor.dtype.code, tensor.dtype.bits, tensor.dtype.lanes};
  return nb::cast(
      nb::ndarray<nb::numpy>(data, shape.size(), shape.data(), owner, tensor.strides, type));
}

nb::object bppsa::python::adopt(DLManagedTensor *tensor) {
  nb::capsule owner(tensor, [](void *pointer) noexcept {
    auto *tensor = static_cast<DLManagedTensor *>(pointer);
    if (tensor->deleter)
      tensor->deleter(tensor);
  });
  return toNumPy(tensor->dl_tensor, owner);
}

nb::object bppsa::python::view(const DLTensor &tensor, nb::handle owner) {
  return toNumPy(tensor, owner);
}

std::string bppsa::python::nameType(DLDataType type) {
  switch (type.code) {
  case kDLInt:
    return "int" + std::to_string(type.bits);
  case kDLUInt:
    return "uint" + std::to_string(type.bits);
  case kDLBool:
    return "bool";
  case kDLBfloat:
    return "bfloat" + std::to_string(type.bits);
  default:
    return "float" + std::to_string(type.bits);
  }
}
