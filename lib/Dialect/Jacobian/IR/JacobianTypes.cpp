//===- JacobianTypes.cpp - jacobian types ---------------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Dialect/Jacobian/IR/Jacobian.h"
#include "mlir/IR/DialectImplementation.h"

using namespace mlir;
using namespace bppsa;
using namespace bppsa::jacobian;

/// jacobian ::= `<` rows `x` cols `x` type `,` structure (`,` `batch` `=` (int | `?`))? `>`
Type MatrixType::parse(AsmParser &parser) {
  SmallVector<int64_t> shape;
  Type elementType;
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseLess() || parser.parseDimensionList(shape, /*allowDynamic=*/false) ||
      parser.parseType(elementType) || parser.parseComma())
    return {};
  if (shape.size() != 2) {
    parser.emitError(loc, "a jacobian needs 2 dimensions, found ") << shape.size();
    return {};
  }
  StructureAttr structure = StructureAttr::parseBare(parser);
  if (!structure)
    return {};
  std::optional<int64_t> batch;
  if (succeeded(parser.parseOptionalComma())) {
    int64_t value = ShapedType::kDynamic;
    if (parser.parseKeyword("batch") || parser.parseEqual())
      return {};
    if (failed(parser.parseOptionalQuestion()) && parser.parseInteger(value))
      return {};
    batch = value;
  }
  if (parser.parseGreater())
    return {};
  return parser.getChecked<MatrixType>(loc, parser.getContext(), shape[0], shape[1], elementType,
                                       structure, batch);
}

void MatrixType::print(AsmPrinter &printer) const {
  printer << "<" << getRows() << "x" << getCols() << "x" << getElementType() << ", ";
  getStructure().printBare(printer);
  if (std::optional<int64_t> batch = getBatch()) {
    printer << ", batch = ";
    if (ShapedType::isDynamic(*batch))
      printer << "?";
    else
      printer << *batch;
  }
  printer << ">";
}

LogicalResult MatrixType::verify(function_ref<InFlightDiagnostic()> emitError, int64_t rows,
                                 int64_t cols, Type elementType, StructureAttr structure,
                                 std::optional<int64_t> batch) {
  if (rows <= 0 || cols <= 0)
    return emitError() << "a jacobian needs at least one row and column, found " << rows << "x"
                       << cols;
  if (!isa<FloatType>(elementType))
    return emitError() << "a jacobian needs a float element type, found " << elementType;
  return structure.verifyShape(emitError, rows, cols);
}

MatrixType MatrixType::compose(MatrixType first, MatrixType second) {
  StructureAttr structure =
      StructureAttr::product(second.getStructure(), first.getStructure(), second.getRows(),
                             first.getRows(), first.getCols());
  std::optional<int64_t> batch = first.getBatch() ? first.getBatch() : second.getBatch();
  return get(first.getContext(), second.getRows(), first.getCols(), first.getElementType(),
             structure, batch);
}

RankedTensorType MatrixType::getDenseType() const {
  SmallVector<int64_t> shape;
  if (getBatch())
    shape.push_back(*getBatch());
  shape.append({getRows(), getCols()});
  return RankedTensorType::get(shape, getElementType());
}
