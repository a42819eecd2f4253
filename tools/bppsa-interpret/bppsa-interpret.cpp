//===- bppsa-interpret.cpp - evaluates a function in float64 --------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "Archives.h"
#include "bppsa/InitAll.h"
#include "bppsa/Reference/JacobianChains.h"
#include "bppsa/Support/InitTool.h"
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
static cl::opt<std::string> jacobians("jacobians",
                                      cl::desc(".npz to write, with the Jacobians that "
                                               "jacobian.assemble made, as sparse rows"));

static LogicalResult fail(const Twine &message) {
  llvm::errs() << "bppsa-interpret: " << message << "\n";
  return failure();
}

static FailureOr<std::vector<Array>> readArguments(size_t count) {
  NamedArrays stored;
  if (!inputArrays.empty()) {
    std::string error;
    if (failed(readArchive(inputArrays, stored, error)))
      return fail(error);
  }
  std::vector<Array> arguments(count);
  std::vector<bool> isSet(count, false);
  for (auto &[key, array] : stored) {
    StringRef name = key;
    size_t index = 0;
    if (!name.consume_front("arg") || name.getAsInteger(10, index) || index >= count)
      return fail(inputArrays + ": found array '" + key + "', but the function takes arg0 to arg" +
                  Twine(static_cast<int64_t>(count) - 1));
    arguments[index] = std::move(array);
    isSet[index] = true;
  }
  for (size_t i = 0; i < count; ++i)
    if (!isSet[i])
      return fail("array 'arg" + Twine(i) + "' is missing; pass it in --inputs");
  return arguments;
}

static LogicalResult write(const std::string &path, const NamedArrays &arrays) {
  std::string error;
  if (failed(writeArchive(path, arrays, error)))
    return fail(error);
  return success();
}

static LogicalResult writeResults(ArrayRef<Array> results) {
  NamedArrays stored;
  for (auto [i, array] : llvm::enumerate(results))
    stored.emplace_back("res" + std::to_string(i), array);
  return write(outputArrays, stored);
}

static LogicalResult writeJacobians(FunctionOpInterface function, const Interpreter &interpreter) {
  NamedArrays links = getJacobianChain(function, interpreter);
  if (links.empty())
    return fail("@" + function.getName() +
                " assembles no Jacobians; differentiate with links=true and run "
                "bppsa-scan-links=algorithm=linear first");
  return write(jacobians, links);
}

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
  Interpreter interpreter(*module);
  FailureOr<std::vector<Array>> results = interpreter.call(functionName, std::move(*arguments));
  if (failed(results) || (!jacobians.empty() && failed(writeJacobians(function, interpreter))))
    return failure();
  return writeResults(*results);
}

int main(int argc, char **argv) {
  initTool();
  llvm::InitLLVM init(argc, argv);
  cl::ParseCommandLineOptions(argc, argv, "evaluates one function of a module in float64\n");
  return succeeded(interpret()) ? 0 : 1;
}
