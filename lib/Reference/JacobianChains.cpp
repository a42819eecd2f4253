//===- JacobianChains.cpp - chains of Jacobians in archives ---------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Reference/JacobianChains.h"
#include "bppsa/Dialect/Jacobian/IR/Jacobian.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include <map>

using namespace mlir;
using namespace bppsa;

static Array makeIntegers(ArrayRef<int64_t> numbers) {
  Array array = Array::makeZeros(int64_t(numbers.size()), /*isFloat=*/false);
  array.integers.assign(numbers.begin(), numbers.end());
  return array;
}

static Array getData(const Array &jacobian, const SparsityPattern &pattern) {
  bool isShared = jacobian.getRank() == 2;
  int64_t samples = isShared ? 1 : jacobian.shape[0], entries = pattern.getNumEntries();
  Array data = Array::makeZeros(isShared ? SmallVector<int64_t>{entries}
                                         : SmallVector<int64_t>{samples, entries});
  int64_t size = pattern.getNumRows() * pattern.getNumCols();
  auto next = data.reals.begin();
  for (int64_t b = 0; b < samples; ++b)
    for (int64_t row = 0; row < pattern.getNumRows(); ++row)
      for (int32_t col : pattern.getRow(row))
        *next++ = jacobian.reals[b * size + row * pattern.getNumCols() + col];
  return data;
}

NamedArrays bppsa::getJacobianChain(Operation *function, const Interpreter &interpreter) {
  NamedArrays arrays;
  int64_t number = 0;
  function->walk([&](jacobian::AssembleOp link) {
    if (link->getParentOfType<jacobian::LinkOp>())
      return;
    auto type = cast<jacobian::MatrixType>(link.getType());
    SparsityPattern pattern = type.computePattern();
    std::vector<int64_t> starts = {0}, columns;
    for (int64_t row = 0; row < pattern.getNumRows(); ++row) {
      llvm::append_range(columns, pattern.getRow(row));
      starts.push_back(columns.size());
    }
    std::string name = "link_" + std::to_string(++number);
    arrays.emplace_back(name + ".shape", makeIntegers({type.getRows(), type.getCols()}));
    arrays.emplace_back(name + ".indptr", makeIntegers(starts));
    arrays.emplace_back(name + ".indices", makeIntegers(columns));
    arrays.emplace_back(name + ".data", getData(interpreter.get(link.getResult()), pattern));
  });
  return arrays;
}

namespace {
class ChainReader {
public:
  ChainReader(MLIRContext *context, const NamedArrays &arrays, bool dropZeros)
      : context(context), dropZeros(dropZeros) {
    for (const auto &[name, array] : arrays)
      byName[name] = &array;
  }

  LogicalResult read(SmallVectorImpl<jacobian::MatrixType> &types);
  std::string error;

private:
  LogicalResult fail(const Twine &message) {
    error = message.str();
    return failure();
  }
  const Array *find(const std::string &name, bool isFloat);
  LogicalResult readLink(const std::string &name, SmallVectorImpl<jacobian::MatrixType> &types);
  LogicalResult checkPattern(const std::string &name, const Array &shape, const Array &starts,
                             const Array &columns, const Array &data);
  bool isEntry(const Array &data, int64_t entry) const;

  MLIRContext *context;
  bool dropZeros;
  std::map<std::string, const Array *> byName;
};
} // namespace

const Array *ChainReader::find(const std::string &name, bool isFloat) {
  auto found = byName.find(name);
  if (found != byName.end() && found->second->isFloat == isFloat)
    return found->second;
  (void)fail("array '" + name + "' is missing or does not hold " +
             (isFloat ? "floats" : "integers"));
  return nullptr;
}

LogicalResult ChainReader::checkPattern(const std::string &name, const Array &shape,
                                        const Array &starts, const Array &columns,
                                        const Array &data) {
  auto isNumber = [](int64_t number) { return number >= 1 && number <= INT32_MAX; };
  if (shape.getRank() != 1 || shape.shape[0] != 2 || !llvm::all_of(shape.integers, isNumber))
    return fail("array '" + name + ".shape' must hold the numbers of rows and columns, from 1 to " +
                Twine(INT32_MAX));
  int64_t rows = shape.integers[0], cols = shape.integers[1];
  if (starts.getRank() != 1 || starts.shape[0] != rows + 1 || starts.integers.front() != 0 ||
      !llvm::is_sorted(starts.integers) || columns.getRank() != 1 ||
      starts.integers.back() != columns.shape[0])
    return fail("array '" + name + ".indptr' must ascend from 0 to the number of indices in " +
                Twine(rows + 1) + " numbers");
  if (llvm::any_of(columns.integers, [&](int64_t col) { return col < 0 || col >= cols; }))
    return fail("array '" + name + ".indices' must hold columns from 0 to " + Twine(cols - 1));
  if (data.getRank() < 1 || data.getRank() > 2 || data.shape.back() != columns.shape[0])
    return fail("array '" + name + ".data' must hold " + Twine(columns.shape[0]) +
                " nonzeros, of all samples or of each");
  return success();
}

bool ChainReader::isEntry(const Array &data, int64_t entry) const {
  int64_t count = data.shape.back(), samples = data.getRank() == 2 ? data.shape[0] : 1;
  for (int64_t b = 0; dropZeros && b < samples; ++b)
    if (data.reals[b * count + entry] != 0)
      return true;
  return !dropZeros;
}

LogicalResult ChainReader::readLink(const std::string &name,
                                    SmallVectorImpl<jacobian::MatrixType> &types) {
  const Array *shape = find(name + ".shape", /*isFloat=*/false);
  const Array *starts = shape ? find(name + ".indptr", /*isFloat=*/false) : nullptr;
  const Array *columns = starts ? find(name + ".indices", /*isFloat=*/false) : nullptr;
  const Array *data = columns ? find(name + ".data", /*isFloat=*/true) : nullptr;
  if (!data || failed(checkPattern(name, *shape, *starts, *columns, *data)))
    return failure();
  int64_t rows = shape->integers[0], cols = shape->integers[1];
  std::vector<std::pair<int32_t, int32_t>> entries;
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t e = starts->integers[row]; e < starts->integers[row + 1]; ++e)
      if (isEntry(*data, e))
        entries.push_back({int32_t(row), int32_t(columns->integers[e])});
  std::optional<int64_t> batch;
  if (data->getRank() == 2)
    batch = data->shape[0];
  SparsityPattern pattern = SparsityPattern::fromEntries(rows, cols, entries);
  if (!types.empty() && types.back().getRows() != cols)
    return fail("array '" + name + ".shape' has " + Twine(cols) +
                " columns, but the link before it " + Twine(types.back().getRows()) + " rows");
  types.push_back(jacobian::MatrixType::get(
      context, rows, cols, Float32Type::get(context),
      jacobian::StructureAttr::fromPattern(context, std::move(pattern)), batch));
  return success();
}

LogicalResult ChainReader::read(SmallVectorImpl<jacobian::MatrixType> &types) {
  for (size_t number = 1; byName.count("link_" + std::to_string(number) + ".shape"); ++number)
    if (failed(readLink("link_" + std::to_string(number), types)))
      return failure();
  if (types.empty())
    return fail("there is no array 'link_1.shape': the archive holds no chain of jacobians");
  if (4 * types.size() != byName.size())
    return fail("there must be four arrays for each link from link_1 to link_" +
                Twine(types.size()) + " and no others, found " + Twine(byName.size()));
  return success();
}

static int64_t getSamples(ArrayRef<jacobian::MatrixType> types) {
  for (jacobian::MatrixType type : types)
    if (type.getBatch())
      return *type.getBatch();
  return 1;
}

OwningOpRef<ModuleOp> bppsa::makeJacobianChain(MLIRContext *context, const NamedArrays &arrays,
                                               bool dropZeros, std::string &error) {
  context->loadDialect<BPPSADialect, func::FuncDialect>();
  ChainReader reader(context, arrays, dropZeros);
  SmallVector<jacobian::MatrixType> links;
  if (failed(reader.read(links))) {
    error = reader.error;
    return {};
  }
  int64_t samples = getSamples(links);
  for (auto [i, link] : llvm::enumerate(links))
    if (link.getBatch() && *link.getBatch() != samples) {
      error = "array 'link_" + std::to_string(i + 1) + ".data' has " +
              std::to_string(*link.getBatch()) + " samples, but a link before it " +
              std::to_string(samples);
      return {};
    }
  OpBuilder builder(context);
  Location loc = builder.getUnknownLoc();
  auto getCotangentType = [&](int64_t size) {
    return RankedTensorType::get({samples, size}, builder.getF32Type());
  };
  OwningOpRef<ModuleOp> module = ModuleOp::create(builder, loc);
  builder.setInsertionPointToEnd(module->getBody());
  SmallVector<Type> types(links.begin(), links.end());
  types.push_back(getCotangentType(links.front().getCols()));
  // Return the cotangent that enters the last link: parameter gradients do not need its result.
  Type entering = getCotangentType(links.back().getCols());
  auto function =
      func::FuncOp::create(builder, loc, "chain", builder.getFunctionType(types, entering));
  Block &body = *function.addEntryBlock();
  builder.setInsertionPointToStart(&body);
  Value cotangent = body.getArguments().back(), result = cotangent;
  for (auto [link, argument] : llvm::zip(links, body.getArguments())) {
    result = cotangent;
    cotangent = jacobian::ApplyOp::create(builder, loc, getCotangentType(link.getRows()), argument,
                                          cotangent);
  }
  func::ReturnOp::create(builder, loc, result);
  return module;
}
