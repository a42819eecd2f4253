//===- bppsa-interpret.cpp - evaluates a function in float64 --------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/InitAll.h"
#include "bppsa/Reference/Interpreter.h"
#include "bppsa/Support/Npz.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Support/FileUtilities.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/ToolOutputFile.h"

using namespace mlir;
using namespace bppsa;
namespace cl = llvm::cl;

static cl::opt<std::string> inputFile(cl::Positional, cl::desc("<file.mlir>"), cl::init("-"));
static cl::opt<std::string> functionName("function", cl::desc("function to call"),
                                         cl::init("main"));
static cl::opt<std::string> inputArrays("inputs", cl::desc(".npz with arrays arg0, arg1, ..."));
static cl::opt<std::string> outputArrays("outputs", cl::desc(".npz to write, with res0, res1, ..."),
                                         cl::Required);

static LogicalResult fail(const Twine &message) {
  llvm::errs() << "bppsa-interpret: " << message << "\n";
  return failure();
}

//===----------------------------------------------------------------------===//
// Arrays of files and of the interpreter
//===----------------------------------------------------------------------===//

template <typename From, typename To>
static std::vector<To> convertElements(const std::vector<char> &data) {
  std::vector<To> result;
  for (size_t i = 0; i + sizeof(From) <= data.size(); i += sizeof(From)) {
    From value;
    std::memcpy(&value, data.data() + i, sizeof(From));
    result.push_back(static_cast<To>(value));
  }
  return result;
}

static Array toArray(const NpyArray &source) {
  Array array;
  array.shape = source.shape;
  array.isFloat = source.type == "<f4" || source.type == "<f8";
  if (source.type == "<f4")
    array.reals = convertElements<float, double>(source.data);
  else if (source.type == "<f8")
    array.reals = convertElements<double, double>(source.data);
  else if (source.type == "<i4")
    array.integers = convertElements<int32_t, int64_t>(source.data);
  else if (source.type == "<i8")
    array.integers = convertElements<int64_t, int64_t>(source.data);
  else
    array.integers = convertElements<uint8_t, int64_t>(source.data);
  return array;
}

static NpyArray fromArray(std::string name, const Array &array) {
  NpyArray result = {std::move(name), array.isFloat ? "<f8" : "<i8", array.shape, {}};
  const char *data = array.isFloat ? reinterpret_cast<const char *>(array.reals.data())
                                   : reinterpret_cast<const char *>(array.integers.data());
  result.data.assign(data, data + array.getNumElements() * 8);
  return result;
}

/// Reads arg0 .. arg<count - 1> from the input archive.
static FailureOr<std::vector<Array>> readArguments(size_t count) {
  std::vector<NpyArray> stored;
  if (!inputArrays.empty()) {
    llvm::Expected<std::vector<NpyArray>> arrays = readNpz(inputArrays);
    if (!arrays)
      return fail(llvm::toString(arrays.takeError()));
    stored = std::move(*arrays);
  }
  std::vector<Array> arguments(count);
  std::vector<bool> isSet(count, false);
  for (const NpyArray &array : stored) {
    StringRef name = array.name;
    size_t index = 0;
    if (!name.consume_front("arg") || name.getAsInteger(10, index) || index >= count)
      return fail(inputArrays + ": found array '" + array.name +
                  "', but the function takes arg0 to arg" + Twine(static_cast<int64_t>(count) - 1));
    arguments[index] = toArray(array);
    isSet[index] = true;
  }
  for (size_t i = 0; i < count; ++i)
    if (!isSet[i])
      return fail("array 'arg" + Twine(i) + "' is missing; pass it in --inputs");
  return arguments;
}

//===----------------------------------------------------------------------===//
// Main
//===----------------------------------------------------------------------===//

static LogicalResult interpret() {
  DialectRegistry registry;
  bppsa::registerAllDialects(registry);
  MLIRContext context(registry);
  auto sourceMgr = std::make_shared<llvm::SourceMgr>();
  std::string message;
  std::unique_ptr<llvm::MemoryBuffer> file = openInputFile(inputFile, &message);
  if (!file)
    return fail(message);
  sourceMgr->AddNewSourceBuffer(std::move(file), SMLoc());
  SourceMgrDiagnosticHandler handler(*sourceMgr, &context);
  OwningOpRef<ModuleOp> module = parseSourceFile<ModuleOp>(sourceMgr, &context);
  if (!module)
    return failure();
  auto function = module->lookupSymbol<FunctionOpInterface>(functionName);
  if (!function)
    return fail(inputFile + ": has no function '" + functionName + "'");
  FailureOr<std::vector<Array>> arguments = readArguments(function.getNumArguments());
  if (failed(arguments))
    return failure();
  FailureOr<std::vector<Array>> results =
      Interpreter(*module).call(functionName, std::move(*arguments));
  if (failed(results))
    return failure();
  std::vector<NpyArray> stored;
  for (auto [i, array] : llvm::enumerate(*results))
    stored.push_back(fromArray("res" + std::to_string(i), array));
  if (llvm::Error error = writeNpz(outputArrays, stored))
    return fail(llvm::toString(std::move(error)));
  return success();
}

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  cl::ParseCommandLineOptions(argc, argv, "evaluates one function of a module in float64\n");
  return succeeded(interpret()) ? 0 : 1;
}
