//===- Tensors.cpp - converts DLPack tensors and arrays -------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "Tensors.h"
#include "bppsa/Runtime/Error.h"

#include <memory>

using namespace bppsa;
using namespace bppsa::runtime;

static constexpr DType kDtypes[] = {DType::F16, DType::F32, DType::F64, DType::I8,
                                    DType::I16, DType::I32, DType::I64, DType::U8,
                                    DType::U16, DType::U32, DType::U64, DType::Bool};

DLDataType capi::toDLDataType(DType dtype) {
  DLDataTypeCode code = kDLUInt;
  switch (dtype) {
  case DType::F16:
  case DType::F32:
  case DType::F64:
    code = kDLFloat;
    break;
  case DType::I8:
  case DType::I16:
  case DType::I32:
  case DType::I64:
    code = kDLInt;
    break;
  case DType::Bool:
    code = kDLBool;
    break;
  default:
    break;
  }
  return {static_cast<uint8_t>(code), static_cast<uint8_t>(8 * elementSize(dtype)), 1};
}

static DType toDType(DLDataType type, const std::string &name) {
  for (DType dtype : kDtypes) {
    DLDataType known = capi::toDLDataType(dtype);
    if (known.code == type.code && known.bits == type.bits && known.lanes == type.lanes)
      return dtype;
  }
  fail("array ", quote(name), ": found a DLPack type with code ", int(type.code), ", ",
       int(type.bits), " bits and ", type.lanes,
       " lanes; expected scalars of 8 to 64 bits, or booleans");
}

static bool isCompact(const DLTensor &tensor) {
  if (!tensor.strides)
    return true;
  int64_t expected = 1;
  for (int axis = tensor.ndim - 1; axis >= 0; --axis) {
    if (tensor.shape[axis] != 1 && tensor.strides[axis] != expected)
      return false;
    expected *= tensor.shape[axis];
  }
  return true;
}

static ArrayArgument toArgument(const BppsaNamedArray &array) {
  if (!array.name || !array.array)
    throw UsageError("an array has no name or no tensor");
  const DLTensor &tensor = *array.array;
  ArrayArgument argument;
  argument.name = array.name;
  if (tensor.device.device_type != kDLCPU)
    fail("array ", quote(argument.name), ": is on DLPack device type ",
         int(tensor.device.device_type), ", expected the CPU (", int(kDLCPU), "); copy it there");
  argument.dtype = toDType(tensor.dtype, argument.name);
  if (tensor.ndim < 0 || (tensor.ndim > 0 && !tensor.shape))
    throw UsageError(text("array ", quote(argument.name), ": has no shape"));
  argument.shape.assign(tensor.shape, tensor.shape + tensor.ndim);
  int64_t elements = 1;
  for (int64_t extent : argument.shape) {
    if (extent < 0)
      throw UsageError(text("array ", quote(argument.name), ": found shape ", list(argument.shape),
                            ", which no array has"));
    elements *= extent;
  }
  if (!tensor.data && elements != 0)
    throw UsageError(text("array ", quote(argument.name), ": has no memory"));
  argument.data = static_cast<char *>(tensor.data) + tensor.byte_offset;
  if (!isCompact(tensor))
    argument.strides.assign(tensor.strides, tensor.strides + tensor.ndim);
  return argument;
}

ArrayArguments capi::toArguments(const BppsaNamedArray *arrays, intptr_t count) {
  if (count < 0 || (count > 0 && !arrays))
    throw UsageError("a list of arrays is missing");
  ArrayArguments arguments;
  for (intptr_t i = 0; i < count; ++i)
    arguments.push_back(toArgument(arrays[i]));
  return arguments;
}

namespace {
struct OwnedTensor {
  DLManagedTensor tensor = {};
  Array array;
  std::vector<int64_t> strides;
};
} // namespace

DLManagedTensor *capi::toManagedTensor(Array array) {
  auto owned = std::make_unique<OwnedTensor>();
  owned->array = std::move(array);
  std::vector<int64_t> &shape = owned->array.shape;
  owned->strides.resize(shape.size());
  int64_t stride = 1;
  for (size_t axis = shape.size(); axis-- > 0; stride *= shape[axis])
    owned->strides[axis] = stride;
  DLTensor &tensor = owned->tensor.dl_tensor;
  tensor.data = owned->array.data.data();
  tensor.device = {kDLCPU, 0};
  tensor.ndim = static_cast<int32_t>(shape.size());
  tensor.dtype = toDLDataType(owned->array.dtype);
  tensor.shape = shape.data();
  tensor.strides = owned->strides.data();
  owned->tensor.manager_ctx = owned.get();
  owned->tensor.deleter = [](DLManagedTensor *self) {
    delete static_cast<OwnedTensor *>(self->manager_ctx);
  };
  return &owned.release()->tensor;
}
