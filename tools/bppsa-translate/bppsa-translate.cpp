//===- bppsa-translate.cpp - translates models and plan evaluations -------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "../bppsa-interpret/Archives.h"
#include "bppsa/Import/ImportONNX.h"
#include "bppsa/Reference/JacobianChains.h"
#include "bppsa/Report/Report.h"
#include "bppsa/Support/InitTool.h"
#include "mlir/IR/AsmState.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Support/FileUtilities.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/ToolOutputFile.h"

using namespace mlir;
namespace cl = llvm::cl;

namespace {
enum class Action { EvaluationToHTML, ImportJacobians, ImportONNX, ListParameters, ListSupport };
} // namespace

static cl::OptionCategory category("bppsa-translate options");
static cl::opt<std::string> inputPath(cl::Positional, cl::desc("FILE"), cl::cat(category));
static cl::opt<std::string> outputPath("o", cl::desc("Output file"), cl::init("-"),
                                       cl::cat(category));
static cl::opt<Action> action(
    cl::desc("Action:"), cl::Required, cl::cat(category),
    cl::values(clEnumValN(Action::EvaluationToHTML, "evaluation-to-html",
                          "Write the output of bppsa-evaluate-plan as one page"),
               clEnumValN(Action::ImportJacobians, "import-jacobians",
                          "Print the chain of Jacobians of an .npz as a list of jacobian.apply"),
               clEnumValN(Action::ImportONNX, "import-onnx", "Print an ONNX model as IR"),
               clEnumValN(Action::ListParameters, "list-onnx-parameters",
                          "Print name, shape, byte offset and stride of each float initializer"),
               clEnumValN(Action::ListSupport, "list-onnx-support",
                          "Print the supported ONNX operators, in Markdown")));
static cl::list<std::string>
    bindings("bind", cl::value_desc("NAME=VALUE"), cl::cat(category),
             cl::desc("With --import-onnx: graph input that is a constant, "
                      "or symbolic dimension that is a number"));
static cl::list<std::string>
    carries("carry", cl::CommaSeparated, cl::value_desc("IN:OUT"), cl::cat(category),
            cl::desc("With --import-onnx: the graph is a step of a stream, "
                     "with output OUT as input IN of the next"));
static cl::list<std::string> batchAxes("batch-axis", cl::value_desc("NAME:AXIS"), cl::cat(category),
                                       cl::desc("With --import-onnx: axis that carries samples"));
static cl::list<std::string> stepAxes("step-axis", cl::value_desc("NAME:AXIS"), cl::cat(category),
                                      cl::desc("With --carry: axis of size 1 that carries steps"));

static cl::opt<bool> dropZeros("drop-zeros", cl::cat(category),
                               cl::desc("With --import-jacobians: treat entries that are zero for "
                                        "every sample as structural zeros"));

static StringRef getSeverityName(DiagnosticSeverity severity) {
  switch (severity) {
  case DiagnosticSeverity::Note:
  case DiagnosticSeverity::Remark:
    return "note: ";
  case DiagnosticSeverity::Warning:
    return "warning: ";
  case DiagnosticSeverity::Error:
    return "error: ";
  }
  llvm_unreachable("all severities are listed");
}

/// "file: error: message"
static void printDiagnostic(Diagnostic &diagnostic) {
  if (auto file = diagnostic.getLocation()->findInstanceOf<FileLineColLoc>())
    llvm::errs() << file.getFilename().getValue() << ": ";
  llvm::errs() << getSeverityName(diagnostic.getSeverity()) << diagnostic.str() << '\n';
}

static LogicalResult fail(const Twine &message) {
  llvm::errs() << inputPath << ": error: " << message << '\n';
  return failure();
}

static LogicalResult importJacobians(MLIRContext *context, raw_ostream &os) {
  bppsa::NamedArrays arrays;
  std::string error;
  if (failed(bppsa::readArchive(inputPath, arrays, error))) {
    llvm::errs() << "error: " << error << '\n';
    return failure();
  }
  OwningOpRef<ModuleOp> module = bppsa::makeJacobianChain(context, arrays, dropZeros, error);
  if (!module)
    return fail(error);
  module->print(os);
  os << '\n';
  return success();
}

static LogicalResult writeEvaluation(raw_ostream &os) {
  llvm::ErrorOr<std::unique_ptr<llvm::MemoryBuffer>> file =
      llvm::MemoryBuffer::getFileOrSTDIN(inputPath);
  if (!file)
    return fail(file.getError().message());
  if (llvm::Error error = bppsa::writeReport((*file)->getBuffer(), {}, os))
    return fail("no evaluation of plans: " + llvm::toString(std::move(error)));
  return success();
}

static FailureOr<bppsa::ImportOptions> readImportOptions() {
  bppsa::ImportOptions options;
  auto read = [](const auto &texts, auto &requests, StringRef expected) -> LogicalResult {
    using Request = typename std::decay_t<decltype(requests)>::value_type;
    for (const std::string &text : texts) {
      std::optional<Request> request = Request::parse(text);
      if (!request) {
        llvm::errs() << expected << ", found '" << text << "'\n";
        return failure();
      }
      requests.push_back(std::move(*request));
    }
    return success();
  };
  if (failed(read(bindings, options.bindings, "--bind must be NAME=VALUE[,VALUE...]")) ||
      failed(read(batchAxes, options.batchAxes, "--batch-axis must be NAME:AXIS")) ||
      failed(read(stepAxes, options.stepAxes, "--step-axis must be NAME:AXIS")))
    return failure();
  options.carries.assign(carries.begin(), carries.end());
  return options;
}

static LogicalResult run(MLIRContext *context, raw_ostream &os) {
  if (action == Action::ListSupport) {
    bppsa::printSupport(os);
    return success();
  }
  if (action == Action::EvaluationToHTML)
    return writeEvaluation(os);
  if (action == Action::ImportJacobians)
    return importJacobians(context, os);
  if (action == Action::ListParameters) {
    FailureOr<bppsa::OnnxImage> image = bppsa::loadOnnxImage(inputPath, context);
    if (failed(image))
      return failure();
    for (const bppsa::OnnxImage::Parameter &parameter : image->parameters) {
      os << parameter.name << " [";
      llvm::interleaveComma(parameter.shape, os);
      os << "] offset " << parameter.offset << " stride " << parameter.stride << '\n';
    }
    return success();
  }
  FailureOr<bppsa::ImportOptions> options = readImportOptions();
  if (failed(options))
    return failure();
  auto module = bppsa::importONNX(StringRef(inputPath), context, *options);
  if (failed(module))
    return failure();
  (*module)->print(os);
  os << '\n';
  return success();
}

int main(int argc, char **argv) {
  bppsa::initTool();
  llvm::InitLLVM initialize(argc, argv);
  registerAsmPrinterCLOptions();
  registerMLIRContextCLOptions();
  cl::ParseCommandLineOptions(argc, argv, "bppsa translation driver\n");
  MLIRContext context;
  context.getDiagEngine().registerHandler(printDiagnostic);
  std::string error;
  std::unique_ptr<llvm::ToolOutputFile> output = openOutputFile(outputPath, &error);
  if (!output) {
    llvm::errs() << error << '\n';
    return 1;
  }
  if (failed(run(&context, output->os())))
    return 1;
  output->keep();
  return 0;
}
