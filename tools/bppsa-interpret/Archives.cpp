//===- Archives.cpp - archives of the interpreter's arrays ----------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "Archives.h"
#include "bppsa/Runtime/Error.h"
#include "bppsa/Runtime/Files/Npz.h"

using namespace mlir;
using namespace bppsa;
using runtime::DType;

template <typename From, typename To>
static std::vector<To> convertElements(const runtime::Array &source) {
  const From *values = source.as<From>();
  return std::vector<To>(values, values + source.elements());
}

static Array toArray(const std::string &name, const runtime::Array &source) {
  Array array;
  array.shape.assign(source.shape.begin(), source.shape.end());
  array.isFloat = source.dtype == DType::F32 || source.dtype == DType::F64;
  switch (source.dtype) {
  case DType::F32:
    array.reals = convertElements<float, double>(source);
    break;
  case DType::F64:
    array.reals = convertElements<double, double>(source);
    break;
  case DType::I32:
    array.integers = convertElements<int32_t, int64_t>(source);
    break;
  case DType::I64:
    array.integers = convertElements<int64_t, int64_t>(source);
    break;
  case DType::Bool:
    array.integers = convertElements<uint8_t, int64_t>(source);
    break;
  default:
    runtime::fail("array ", runtime::quote(name), ": found ", numpyName(source.dtype),
                  "; use float32, float64, int32, int64 or bool");
  }
  return array;
}

LogicalResult bppsa::readArchive(const std::string &path, NamedArrays &arrays, std::string &error) {
  try {
    runtime::NpzReader archive(path);
    for (const auto &entry : archive.headers())
      arrays.emplace_back(entry.first, toArray(entry.first, archive.read(entry.first)));
    return success();
  } catch (const std::exception &exception) {
    error = exception.what();
    return failure();
  }
}

LogicalResult bppsa::writeArchive(const std::string &path, const NamedArrays &arrays,
                                  std::string &error) {
  try {
    runtime::NpzWriter writer(path);
    for (const auto &[name, array] : arrays) {
      const void *data = array.isFloat ? static_cast<const void *>(array.reals.data())
                                       : static_cast<const void *>(array.integers.data());
      writer.add(name, array.isFloat ? DType::F64 : DType::I64,
                 {array.shape.begin(), array.shape.end()}, data);
    }
    writer.commit();
    return success();
  } catch (const std::exception &exception) {
    error = exception.what();
    return failure();
  }
}
