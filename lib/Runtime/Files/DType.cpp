//===- DType.cpp - Element types of arrays --------------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Runtime/Files/DType.h"
#include "bppsa/Runtime/Error.h"

using namespace bppsa::runtime;

namespace {
struct Row {
  DType dtype;
  size_t size;
  const char *numpy;
  const char *descr;
  const char *model;
};
} // namespace

static const Row rows[] = {
    {DType::F16, 2, "float16", "<f2", ""},  {DType::F32, 4, "float32", "<f4", "f32"},
    {DType::F64, 8, "float64", "<f8", ""},  {DType::I8, 1, "int8", "|i1", ""},
    {DType::I16, 2, "int16", "<i2", ""},    {DType::I32, 4, "int32", "<i4", "i32"},
    {DType::I64, 8, "int64", "<i8", "i64"}, {DType::U8, 1, "uint8", "|u1", ""},
    {DType::U16, 2, "uint16", "<u2", ""},   {DType::U32, 4, "uint32", "<u4", ""},
    {DType::U64, 8, "uint64", "<u8", ""},   {DType::Bool, 1, "bool", "|b1", "bool"},
};

static const Row &rowOf(DType dtype) { return rows[static_cast<size_t>(dtype)]; }

size_t bppsa::runtime::elementSize(DType dtype) { return rowOf(dtype).size; }
const char *bppsa::runtime::numpyName(DType dtype) { return rowOf(dtype).numpy; }
const char *bppsa::runtime::npyDescr(DType dtype) { return rowOf(dtype).descr; }
bool bppsa::runtime::isInteger(DType dtype) { return dtype >= DType::I8 && dtype <= DType::U64; }

DType bppsa::runtime::dtypeOfNpy(const std::string &descr) {
  for (const Row &row : rows) {
    // One-byte types have no byte order; writers use either mark.
    bool same =
        row.size == 1 ? !descr.empty() && descr.substr(1) == row.descr + 1 : descr == row.descr;
    if (same)
      return row.dtype;
  }
  fail("its element type is ", quote(descr), descr == "|V2" ? ", as of bfloat16" : "",
       "; expected little-endian float16 and float32, the integers and bool; convert it with "
       ".astype");
}

DType bppsa::runtime::dtypeOfModel(const std::string &name) {
  for (const Row &row : rows)
    if (name == row.model && !name.empty())
      return row.dtype;
  if (name == "i1")
    return DType::Bool;
  fail("unknown element type ", quote(name));
}
