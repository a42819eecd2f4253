//===- JacobianAttributes.cpp - patterns and structures -------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Dialect/Jacobian/IR/Jacobian.h"
#include <numeric>

#include "bppsa/Dialect/Jacobian/IR/JacobianEnums.cpp.inc"

using namespace mlir;
using namespace bppsa;
using namespace bppsa::jacobian;

//===----------------------------------------------------------------------===//
// Patterns
//===----------------------------------------------------------------------===//

/// numbers ::= `[` ((int | int `to` int) (`,` ...)*)? `]`, with 0 <= int < `limit`.
static ParseResult parseNumbers(AsmParser &parser, std::vector<int32_t> &numbers, int64_t limit) {
  return parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, [&]() -> ParseResult {
    int64_t first, last;
    SMLoc loc = parser.getCurrentLocation();
    if (parser.parseInteger(first))
      return failure();
    last = first;
    if (succeeded(parser.parseOptionalKeyword("to")) && parser.parseInteger(last))
      return failure();
    if (first < 0 || last < first || last >= limit)
      return parser.emitError(loc, "expected ascending numbers from 0 to ")
             << limit - 1 << ", found " << first << " to " << last;
    for (; first <= last; ++first)
      numbers.push_back(first);
    return success();
  });
}

/// pattern ::= `<` rows `x` cols `,` `[` numbers (`,` numbers)* `]` `,` numbers `>`
Attribute PatternAttr::parse(AsmParser &parser, Type) {
  SmallVector<int64_t> shape;
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseLess() ||
      parser.parseDimensionList(shape, /*allowDynamic=*/false, /*withTrailingX=*/false) ||
      parser.parseComma())
    return {};
  if (shape.size() != 2 || llvm::any_of(shape, [](int64_t size) { return size > INT32_MAX; })) {
    parser.emitError(loc, "a pattern needs 2 dimensions below 2^31");
    return {};
  }
  std::vector<std::vector<int32_t>> rows;
  auto parseRow = [&]() -> ParseResult {
    SMLoc rowLoc = parser.getCurrentLocation();
    std::vector<int32_t> &row = rows.emplace_back();
    if (parseNumbers(parser, row, shape[1]))
      return failure();
    if (std::adjacent_find(row.begin(), row.end(), std::greater_equal<>()) != row.end())
      return parser.emitError(rowLoc, "the columns of a row must ascend");
    return success();
  };
  std::vector<int32_t> classes;
  SMLoc classesLoc;
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, parseRow) ||
      parser.parseComma() || parser.getCurrentLocation(&classesLoc) ||
      parseNumbers(parser, classes, rows.size()) || parser.parseGreater())
    return {};
  if (int64_t(classes.size()) != shape[0]) {
    parser.emitError(classesLoc, "a pattern of ")
        << shape[0] << " rows must say for each which one it is, found " << classes.size();
    return {};
  }
  PatternBuilder builder(shape[0], shape[1]);
  for (int32_t index : classes)
    builder.addRow(rows[index]);
  return PatternAttr::get(parser.getContext(), builder.take());
}

/// For example `[0, 3 to 7]`; shorter runs are not abbreviated.
static void printNumbers(AsmPrinter &printer, ArrayRef<int32_t> numbers) {
  printer << "[";
  for (size_t i = 0, end; i < numbers.size(); i = end) {
    for (end = i + 1; end < numbers.size() && numbers[end] == numbers[end - 1] + 1;)
      ++end;
    bool isRun = end - i > 2;
    end = isRun ? end : i + 1;
    printer << (i == 0 ? "" : ", ") << numbers[i];
    if (isRun)
      printer << " to " << numbers[end - 1];
  }
  printer << "]";
}

void PatternAttr::print(AsmPrinter &printer) const {
  const SparsityPattern &pattern = getValue();
  printer << "<" << pattern.getNumRows() << "x" << pattern.getNumCols() << ", [";
  for (int32_t index = 0; index < pattern.getNumClasses(); ++index) {
    printer << (index == 0 ? "" : ", ");
    printNumbers(printer, pattern.getClass(index));
  }
  printer << "], ";
  printNumbers(printer, pattern.getRowClasses());
  printer << ">";
}

//===----------------------------------------------------------------------===//
// Structures
//===----------------------------------------------------------------------===//

StructureAttr StructureAttr::getCSR(PatternAttr pattern) {
  return get(pattern.getContext(), StructureKind::CSR, 0, pattern, {}, {}, {});
}

StructureAttr StructureAttr::getBlockDiagonal(int64_t count, StructureAttr block) {
  return get(block.getContext(), StructureKind::BlockDiagonal, count, {}, {}, {}, block);
}

StructureAttr StructureAttr::getBlocks(ArrayRef<int64_t> rowSizes, ArrayRef<int64_t> colSizes,
                                       ArrayRef<StructureAttr> parts) {
  return get(parts.front().getContext(), StructureKind::Blocks, 0, {}, rowSizes, colSizes, parts);
}

static std::string listStructures() {
  std::string names;
  unsigned last = getMaxEnumValForStructureKind();
  for (unsigned i = 0; i <= last; ++i)
    names += (i == 0      ? ""
              : i == last ? " or "
                          : ", ") +
             stringifyStructureKind(StructureKind(i)).str();
  return names;
}

/// structures ::= structure (`,` structure)*
static ParseResult parseParts(AsmParser &parser, SmallVectorImpl<StructureAttr> &parts) {
  do {
    parts.push_back(StructureAttr::parseBare(parser));
    if (!parts.back())
      return failure();
  } while (succeeded(parser.parseOptionalComma()));
  return success();
}

static StructureAttr parseBlocks(AsmParser &parser, SMLoc loc) {
  SmallVector<int64_t> sizes[2];
  SmallVector<StructureAttr> parts;
  for (SmallVector<int64_t> &side : sizes) {
    auto parseSize = [&] { return parser.parseInteger(side.emplace_back()); };
    if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, parseSize) ||
        parser.parseComma())
      return {};
  }
  if (parser.parseLSquare() || parseParts(parser, parts) || parser.parseRSquare())
    return {};
  if (parts.size() != sizes[0].size() * sizes[1].size()) {
    parser.emitError(loc, "a grid of ")
        << sizes[0].size() << " x " << sizes[1].size() << " blocks needs as many structures, found "
        << parts.size();
    return {};
  }
  return StructureAttr::getBlocks(sizes[0], sizes[1], parts);
}

static StructureAttr parseBlockDiagonal(AsmParser &parser, SMLoc loc) {
  int64_t count;
  if (parser.parseInteger(count) || parser.parseComma())
    return {};
  StructureAttr block = StructureAttr::parseBare(parser);
  if (block && count >= 1)
    return StructureAttr::getBlockDiagonal(count, block);
  if (block)
    parser.emitError(loc, "a block diagonal needs at least one block, found ") << count;
  return {};
}

static StructureAttr parseSum(AsmParser &parser, SMLoc loc) {
  SmallVector<StructureAttr> parts;
  if (parseParts(parser, parts))
    return {};
  if (parts.size() >= 2)
    return StructureAttr::get(parser.getContext(), StructureKind::Sum, 0, {}, {}, {}, parts);
  parser.emitError(loc, "a sum needs at least 2 structures, found ") << parts.size();
  return {};
}

StructureAttr StructureAttr::parseBare(AsmParser &parser) {
  StringRef keyword;
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseKeyword(&keyword))
    return {};
  std::optional<StructureKind> kind = symbolizeStructureKind(keyword);
  if (!kind) {
    parser.emitError(loc, "unknown jacobian structure '")
        << keyword << "'; use " << listStructures();
    return {};
  }
  if (*kind < StructureKind::CSR)
    return get(parser.getContext(), *kind);
  StructureAttr result;
  PatternAttr pattern;
  if (parser.parseLParen())
    return {};
  if (*kind == StructureKind::Blocks)
    result = parseBlocks(parser, loc);
  else if (*kind == StructureKind::BlockDiagonal)
    result = parseBlockDiagonal(parser, loc);
  else if (*kind == StructureKind::Sum)
    result = parseSum(parser, loc);
  else if (succeeded(parser.parseAttribute(pattern)))
    result = getCSR(pattern);
  return result && succeeded(parser.parseRParen()) ? result : StructureAttr();
}

void StructureAttr::printBare(AsmPrinter &printer) const {
  printer << stringifyStructureKind(getKind());
  if (getKind() < StructureKind::CSR)
    return;
  auto printParts = [&] {
    llvm::interleaveComma(getParts(), printer,
                          [&](StructureAttr part) { part.printBare(printer); });
  };
  printer << "(";
  if (is(StructureKind::CSR))
    printer << getPattern();
  if (is(StructureKind::BlockDiagonal))
    printer << getCount() << ", ";
  if (is(StructureKind::Blocks)) {
    for (ArrayRef<int64_t> sizes : {getRowSizes(), getColSizes()}) {
      printer << "[";
      llvm::interleaveComma(sizes, printer);
      printer << "], ";
    }
    printer << "[";
  }
  printParts();
  printer << (is(StructureKind::Blocks) ? "])" : ")");
}

Attribute StructureAttr::parse(AsmParser &parser, Type) {
  if (parser.parseLess())
    return {};
  StructureAttr structure = parseBare(parser);
  return structure && succeeded(parser.parseGreater()) ? structure : StructureAttr();
}

void StructureAttr::print(AsmPrinter &printer) const {
  printer << "<";
  printBare(printer);
  printer << ">";
}

/// For diagnostics; patterns are too long to print.
std::string StructureAttr::toString() const {
  std::string text = stringifyStructureKind(getKind()).str();
  if (is(StructureKind::CSR))
    return text + " with " + std::to_string(getPattern().getValue().getNumEntries()) + " entries";
  if (getParts().empty())
    return text;
  text += "(" + (is(StructureKind::BlockDiagonal) ? std::to_string(getCount()) + ", " : "");
  llvm::raw_string_ostream stream(text);
  llvm::interleaveComma(getParts(), stream, [&](StructureAttr part) { stream << part.toString(); });
  stream << ")";
  return text;
}

LogicalResult StructureAttr::verifyShape(function_ref<InFlightDiagnostic()> emitError, int64_t rows,
                                         int64_t cols) const {
  auto total = [](ArrayRef<int64_t> sizes) {
    return std::accumulate(sizes.begin(), sizes.end(), int64_t(0));
  };
  switch (getKind()) {
  case StructureKind::Identity:
  case StructureKind::Diagonal:
    if (rows != cols)
      return emitError() << "a jacobian with structure '" << stringifyStructureKind(getKind())
                         << "' must be square, found " << rows << "x" << cols << "; use dense";
    return success();
  case StructureKind::CSR: {
    const SparsityPattern &pattern = getPattern().getValue();
    if (pattern.getNumRows() != rows || pattern.getNumCols() != cols)
      return emitError() << "the pattern of a " << rows << "x" << cols
                         << " jacobian must have its shape, found " << pattern.getNumRows() << "x"
                         << pattern.getNumCols();
    return success();
  }
  case StructureKind::BlockDiagonal:
    if (rows % getCount() != 0 || cols % getCount() != 0)
      return emitError() << getCount() << " blocks must divide the rows and columns of a jacobian, "
                         << "found " << rows << "x" << cols;
    return getParts().front().verifyShape(emitError, rows / getCount(), cols / getCount());
  case StructureKind::Blocks:
    for (int64_t size : llvm::concat<const int64_t>(getRowSizes(), getColSizes()))
      if (size < 1)
        return emitError() << "a block of a jacobian needs at least one row and column, found a "
                              "size of "
                           << size;
    if (total(getRowSizes()) != rows || total(getColSizes()) != cols)
      return emitError() << "the blocks of a " << rows << "x" << cols
                         << " jacobian must add up to its shape, found " << total(getRowSizes())
                         << "x" << total(getColSizes());
    for (auto [i, part] : llvm::enumerate(getParts()))
      if (failed(part.verifyShape(emitError, getRowSizes()[i / getColSizes().size()],
                                  getColSizes()[i % getColSizes().size()])))
        return failure();
    return success();
  case StructureKind::Sum:
    return success(llvm::all_of(getParts(), [&](StructureAttr part) {
      return succeeded(part.verifyShape(emitError, rows, cols));
    }));
  default:
    return success();
  }
}

//===----------------------------------------------------------------------===//
// Jacobians of operations
//===----------------------------------------------------------------------===//

LogicalResult OperandJacobiansAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                           ArrayRef<Type> types) {
  for (Type type : types)
    if (!isa<MatrixType, NoneType>(type))
      return emitError() << "must hold a type of Jacobians or none for each value, found " << type;
  return success();
}

OperandJacobiansAttr OperandJacobiansAttr::getOf(MLIRContext *context, ArrayRef<MatrixType> types) {
  return get(context, llvm::map_to_vector(types, [&](MatrixType type) {
               return type ? Type(type) : NoneType::get(context);
             }));
}

MatrixType OperandJacobiansAttr::getJacobian(size_t index) {
  return dyn_cast<MatrixType>(getTypes()[index]);
}
