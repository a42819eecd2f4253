//===- bppsa-compile.cpp - compiles ONNX models into trainable programs ---===//
//
// Part of the bppsa project, under the MIT License.
//
// docs/Reference/Compiler.md describes the command line.
//
//===----------------------------------------------------------------------===//

#include "CommandLine.h"
#include "OutOfMemory.h"
#include "bppsa/Compiler/OptionTable.h"
#include "bppsa/Compiler/Pipelines/RunPasses.h"
#include "bppsa/Import/ImportONNX.h"
#include "bppsa/Support/InitTool.h"
#include "mlir/IR/AsmState.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Support/Timing.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/Path.h"
#include <csignal>

using namespace mlir;
using namespace bppsa;

/// docs/Reference/CommandLine.md guarantees these statuses.
enum ExitStatus { kFine = 0, kWrongInput = 1, kWrongUsage = 2 };

static void printTargets(raw_ostream &os) {
  os << "cpu: x86-64-v2, x86-64-v3 (AVX2), x86-64-v4 (AVX-512), chosen at run time; one CPU with "
        "--mcpu\n"
        "cuda: sm_80 and newer, with --gpu-arch, and PTX for still newer GPUs; on the CPU with "
        "--emulate\n";
}

static int printOutput(StringRef text) {
  llvm::raw_fd_ostream &os = llvm::outs();
  os << text;
  os.flush();
  if (!os.has_error())
    return kFine;
  printMessage("error: cannot write to the standard output: " + os.error().message());
  os.clear_error();
  return kWrongInput;
}

static std::string findRuntimeLibrary(const char *argv0) {
  std::string program =
      llvm::sys::fs::getMainExecutable(argv0, reinterpret_cast<void *>(&findRuntimeLibrary));
  llvm::SmallString<128> path(llvm::sys::path::parent_path(program));
  llvm::sys::path::append(path, "..", "lib", "libbppsa_runtime.a");
  return path.str().str();
}

static const char *getWord(CompileDiagnostic::Severity severity) {
  switch (severity) {
  case CompileDiagnostic::Severity::Note:
    return "note: ";
  case CompileDiagnostic::Severity::Warning:
    return "warning: ";
  case CompileDiagnostic::Severity::Error:
    return "error: ";
  }
  llvm_unreachable("unknown severity");
}

/// Prints only the first error.
static int compile(const CommandLine &commandLine) {
  bool hasErrors = false;
  auto print = [&](const CompileDiagnostic &diagnostic) {
    bool isError = diagnostic.severity == CompileDiagnostic::Severity::Error;
    if (!isError || !hasErrors)
      printMessage(getWord(diagnostic.severity) + llvm::Twine(commandLine.model.path) + ": " +
                   diagnostic.message);
    hasErrors |= isError;
  };
  const CompileOptions &options = commandLine.options;
  if (commandLine.output != "-")
    return compileModelToFile(commandLine.model, options, commandLine.output, print) ? kFine
                                                                                     : kWrongInput;
  std::optional<std::string> text = compileModel(commandLine.model, options, print);
  return text ? printOutput(*text) : kWrongInput;
}

int main(int argc, char **argv) {
  initTool();
  llvm::InitLLVM init(argc, argv);
  // Turn these signals into write errors.
  std::signal(SIGXFSZ, SIG_IGN);
  std::signal(SIGPIPE, SIG_IGN);
  reportOutOfMemory();
  // The exit status is valid even if standard error is full.
  llvm::scope_exit forgetErrors([] { llvm::errs().clear_error(); });
  registerAsmPrinterCLOptions();
  registerMLIRContextCLOptions();
  registerPassManagerCLOptions();
  registerDefaultTimingManagerCLOptions();
  llvm::cl::SetVersionPrinter(
      [](raw_ostream &os) { os << "bppsa " BPPSA_VERSION " (MLIR " LLVM_VERSION_STRING ")\n"; });
  std::optional<CommandLine> commandLine = parseCommandLine(argc, argv);
  if (!commandLine)
    return kWrongUsage;
  std::string text;
  llvm::raw_string_ostream stream(text);
  if (commandLine->listTargets)
    return printTargets(stream), printOutput(text);
  if (commandLine->listSupport)
    return printSupport(stream), printOutput(text);

  CompileOptions &options = commandLine->options;
  if (std::optional<std::string> mistake = readOptionFiles(options)) {
    printMessage("error: " + *mistake);
    return kWrongInput;
  }
  std::vector<std::string> mistakes = validate(options);
  if (mistakes.empty() && (commandLine->model.path.empty() || commandLine->output.empty()))
    mistakes = {"a model and an output file are needed: bppsa-compile MODEL.onnx -o OUT"};
  if (!mistakes.empty()) {
    printMessage(mistakes.front());
    return kWrongUsage;
  }
  options.runtimeLibrary = findRuntimeLibrary(argv[0]);
  options.verifyEach = verifiesEachPass();
  options.leaveReproducers = true;
  options.preparePassManager = [](PassManager &pm) {
    applyDefaultTimingPassManagerCLOptions(pm);
    return succeeded(applyPassManagerCLOptions(pm));
  };
  return compile(*commandLine);
}
