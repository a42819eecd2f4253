//===- AnnotationAttributes.cpp - symbols and backward parts --------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Dialect/BPPSA/IR/BPPSASchedule.h"
#include "llvm/ADT/DenseSet.h"

#include "bppsa/Dialect/BPPSA/IR/BPPSAScheduleEnums.cpp.inc"

using namespace mlir;
using namespace bppsa;

//===----------------------------------------------------------------------===//
// Symbols of sizes
//===----------------------------------------------------------------------===//

LogicalResult SymbolsAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                  ArrayRef<StringAttr> names, ArrayRef<int64_t> minSizes) {
  DenseSet<StringAttr> seen;
  for (auto [name, least] : llvm::zip_equal(names, minSizes)) {
    if (name.empty() || !seen.insert(name).second)
      return emitError() << "symbols must have different names, found " << name
                         << (name.empty() ? "" : " twice");
    if (least < 1)
      return emitError() << "the minimum size of symbol " << name << " must be positive, found "
                         << least;
  }
  return success();
}

Attribute SymbolsAttr::parse(AsmParser &parser, Type) {
  SmallVector<StringAttr> names;
  SmallVector<int64_t> minSizes;
  SMLoc loc = parser.getCurrentLocation();
  auto parseSymbol = [&]() -> ParseResult {
    if (parser.parseAttribute(names.emplace_back()))
      return failure();
    int64_t &least = minSizes.emplace_back(1);
    if (failed(parser.parseOptionalKeyword("at")))
      return success();
    return failure(parser.parseKeyword("least") || parser.parseInteger(least));
  };
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::LessGreater, parseSymbol))
    return {};
  return getChecked([&] { return parser.emitError(loc); }, parser.getContext(),
                    ArrayRef<StringAttr>(names), ArrayRef<int64_t>(minSizes));
}

void SymbolsAttr::print(AsmPrinter &printer) const {
  printer << "<";
  llvm::interleaveComma(llvm::zip_equal(getNames(), getMinSizes()), printer, [&](auto symbol) {
    auto [name, least] = symbol;
    printer << name;
    if (least > 1)
      printer << " at least " << least;
  });
  printer << ">";
}

//===----------------------------------------------------------------------===//
// Parts of a backward pass
//===----------------------------------------------------------------------===//

LogicalResult BackwardPartAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                       BackwardRole role, int64_t stage) {
  bool hasStage = role == BackwardRole::Parameter;
  if (hasStage ? stage >= 1 : stage == 0)
    return success();
  return emitError() << "a backward part '" << stringifyBackwardRole(role) << "' must have "
                     << (hasStage ? "a stage from 1 on" : "no stage") << ", found " << stage
                     << (hasStage ? "; number the stages from the one cotangents reach last"
                                  : "; only 'parameter' has one");
}
