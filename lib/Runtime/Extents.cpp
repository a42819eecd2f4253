//===- Extents.cpp - Symbolic extents -------------------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Runtime/Error.h"
#include "bppsa/Runtime/Model.h"

using namespace bppsa::runtime;

static int64_t floorDivide(int64_t a, int64_t b) {
  return a / b - (a % b != 0 && (a < 0) != (b < 0));
}

std::optional<int64_t> bppsa::runtime::evaluate(const Extent &extent, const Symbols &symbols) {
  if (extent.kind == Extent::Kind::Number)
    return extent.number;
  if (extent.kind == Extent::Kind::Symbol)
    return symbols[extent.symbol];
  std::optional<int64_t> a = evaluate(extent.operands[0], symbols);
  std::optional<int64_t> b = evaluate(extent.operands[1], symbols);
  if (!a || !b)
    return std::nullopt;
  int64_t result = 0;
  if (extent.op == "+")
    return __builtin_add_overflow(*a, *b, &result) ? std::nullopt : std::optional(result);
  if (extent.op == "*")
    return __builtin_mul_overflow(*a, *b, &result) ? std::nullopt : std::optional(result);
  if (*b == 0)
    return std::nullopt;
  if (extent.op == "floordiv")
    return floorDivide(*a, *b);
  if (extent.op == "ceildiv")
    return -floorDivide(-*a, *b);
  return *a - floorDivide(*a, *b) * *b;
}

std::string Model::extentText(const Extent &extent) const {
  if (extent.kind == Extent::Kind::Number)
    return std::to_string(extent.number);
  if (extent.kind == Extent::Kind::Symbol)
    return symbols[extent.symbol];
  return text("(", extentText(extent.operands[0]), " ", extent.op, " ",
              extentText(extent.operands[1]), ")");
}

std::string Model::shapeText(const std::vector<Extent> &shape) const {
  std::vector<std::string> parts;
  for (const Extent &extent : shape)
    parts.push_back(extentText(extent));
  return list(parts);
}

std::vector<int64_t> Model::extents(const std::vector<Extent> &shape, const Symbols &values) const {
  std::vector<int64_t> result;
  for (const Extent &extent : shape) {
    std::optional<int64_t> value = evaluate(extent, values);
    if (!value || *value < 0)
      fail("the extent ", extentText(extent), " of a result has no value for these inputs");
    result.push_back(*value);
  }
  return result;
}
