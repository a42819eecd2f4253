//===- bppsa-compile.cpp - compiles ONNX models into trainable programs ---===//
//
// Part of the bppsa project, under the MIT License.
//
// The command line is described in docs/CommandLine.md.
//
//===----------------------------------------------------------------------===//

#include "Compilation.h"
#include "bppsa/Dialect/BPPSA/IR/BPPSA.h"
#include "bppsa/Import/ImportONNX.h"
#include "bppsa/InitAll.h"
#include "mlir/IR/AsmState.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Support/Timing.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/InitLLVM.h"

using namespace mlir;
using namespace bppsa;
namespace cl = llvm::cl;

/// Exit statuses of the contract.
enum ExitStatus { kFine = 0, kWrongInput = 1, kWrongUsage = 2 };

static cl::OptionCategory category("bppsa-compile options");

static cl::opt<std::string> inputFile(cl::Positional, cl::desc("MODEL.onnx"), cl::cat(category));
static cl::opt<std::string> outputFile("o", cl::desc("Output file"), cl::value_desc("OUT"),
                                       cl::cat(category));
static cl::opt<std::string> target("target", cl::desc("cpu or cuda"), cl::init("cpu"),
                                   cl::cat(category));
static cl::opt<std::string> gpuArch("gpu-arch", cl::desc("GPU architectures (--target=cuda)"),
                                    cl::init("sm_90"), cl::cat(category));
static cl::opt<std::string> precision("precision",
                                      cl::desc("What tensor cores multiply (--target=cuda)"),
                                      cl::init("fp32"), cl::cat(category));
static cl::opt<bool> emulate("emulate", cl::desc("Run GPU kernels on the CPU (--target=cuda)"),
                             cl::cat(category));
static cl::opt<std::string> loss("loss", cl::init("cross-entropy"), cl::cat(category),
                                 cl::desc("cross-entropy, nll, mse, l1, huber, bce-with-logits, or "
                                          "none: the model's own scalar output is the loss"));
static cl::opt<std::string> lossOn("loss-on", cl::cat(category), cl::value_desc("NAME"),
                                   cl::desc("Graph output that feeds the loss (default: first)"));
static cl::opt<std::string> optimizer("optimizer", cl::init("adam"), cl::cat(category),
                                      cl::desc("sgd, momentum, adam, adamw or rmsprop"));
static cl::opt<std::string> freeze("freeze", cl::cat(category), cl::value_desc("REGEX"),
                                   cl::desc("Float initializers that are not trained"));
static cl::opt<std::string> backward("backward", cl::init("auto"), cl::cat(category),
                                     cl::desc("Backward passes of the program: scan, sequential, "
                                              "or auto: both, chosen at run time"));
static cl::opt<std::string>
    scan("scan", cl::init("auto"), cl::cat(category),
         cl::desc("auto, linear, blelloch, hybrid:L, chunked:C, or chunked: "
                  "C is chosen at run time"));
static cl::list<std::string> batchAxes("batch-axis", cl::cat(category), cl::value_desc("NAME:AXIS"),
                                       cl::desc("Sample axis of a graph input or output"));
static cl::opt<std::string> memoryLimit(
    "memory-limit", cl::init("1G"), cl::cat(category), cl::value_desc("BYTES"),
    cl::desc("Most memory for the explicit jacobians of layers and one sample, as in 500M "
             "or 2G (default 1G); 0 for no limit"));
static cl::opt<bool>
    pruneZeros("prune-zeros", cl::cat(category),
               cl::desc("Elements of the model's matrices and kernels that are zero stay zero, and "
                        "explicit jacobians leave them out"));
static cl::opt<std::string> emit("emit", cl::init("exe"), cl::cat(category),
                                 cl::desc("exe, shared, obj, mlir, llvm, asm, ptx or report"));
static cl::opt<int64_t> reportLength("report-length", cl::init(1000), cl::cat(category),
                                     cl::value_desc("T"),
                                     cl::desc("Time steps that a report assumes where the model "
                                              "leaves them open (default 1000)"));
static cl::opt<int64_t> reportBatch("report-batch", cl::init(16), cl::cat(category),
                                    cl::value_desc("B"),
                                    cl::desc("Samples that a report assumes where the model leaves "
                                             "them open (default 16)"));
static cl::opt<std::string> compileTo("compile-to", cl::init("end"), cl::cat(category),
                                      cl::value_desc("PHASE"),
                                      cl::desc("Stop after import, loss, differentiate, scan or "
                                               "lower and write that IR"));
static cl::opt<std::string> dumpPhasesTo("dump-phases-to", cl::cat(category), cl::value_desc("DIR"),
                                         cl::desc("Write the IR after every phase"));
static cl::opt<char> optLevel("O", cl::Prefix, cl::init('3'), cl::cat(category),
                              cl::desc("Optimisation level, 0 to 3 (default 3)"));
static cl::opt<std::string> mcpu("mcpu", cl::cat(category),
                                 cl::desc("Generate code for one CPU (native or an LLVM name) "
                                          "instead of every x86-64 level"));
static cl::opt<bool> listTargets("list-targets", cl::desc("Print the targets of this build"),
                                 cl::cat(category));
static cl::opt<bool> listSupport("list-support", cl::cat(category),
                                 cl::desc("Print the ONNX operators that are supported"));

/// Prints a usage error; the exit status of the caller.
static int wrongUsage(const Twine &message) {
  llvm::errs() << "bppsa-compile: " << message << "\n";
  return kWrongUsage;
}

/// Prints one line for an input that cannot be compiled.
static int wrongInput(const Twine &message) {
  llvm::errs() << "bppsa-compile: error: " << message << "\n";
  return kWrongInput;
}

static bool isOneOf(StringRef value, ArrayRef<StringRef> accepted) {
  return llvm::is_contained(accepted, value);
}

/// The bytes that `text` means: a whole number and, where one follows, K, M or G.
static std::optional<int64_t> parseBytes(StringRef text) {
  int64_t unit = 1;
  for (auto [letter, factor] : {std::pair("K", 10), std::pair("M", 20), std::pair("G", 30)})
    if (text.consume_back(letter))
      unit = int64_t(1) << factor;
  int64_t count;
  if (text.getAsInteger(10, count) || count < 0 || count > INT64_MAX / unit)
    return std::nullopt;
  return count * unit;
}

/// Checks the words of the command line that `llvm::cl` takes as they are.
static int checkWords(MLIRContext &context) {
  if (!isOneOf(target, {"cpu", "cuda"}))
    return wrongUsage("--target must be cpu or cuda, found '" + target + "'");
  if (!isOneOf(loss, {"cross-entropy", "nll", "mse", "l1", "huber", "bce-with-logits", "none"}))
    return wrongUsage("--loss must be cross-entropy, nll, mse, l1, huber, bce-with-logits or none, "
                      "found '" +
                      loss + "'");
  if (!isOneOf(optimizer, {"sgd", "momentum", "adam", "adamw", "rmsprop"}))
    return wrongUsage("--optimizer must be sgd, momentum, adam, adamw or rmsprop, found '" +
                      optimizer + "'");
  if (!isOneOf(backward, {"auto", "scan", "sequential"}))
    return wrongUsage("--backward must be auto, scan or sequential, found '" + backward + "'");
  if (!isOneOf(emit, {"exe", "shared", "obj", "mlir", "llvm", "asm", "ptx", "report"}))
    return wrongUsage("--emit must be exe, shared, obj, mlir, llvm, asm, ptx or report, found '" +
                      emit + "'");
  if (!isOneOf(compileTo, {"import", "loss", "differentiate", "scan", "lower", "end"}))
    return wrongUsage("--compile-to must be import, loss, differentiate, scan, lower or end, "
                      "found '" +
                      compileTo + "'");
  if (optLevel < '0' || optLevel > '3')
    return wrongUsage("-O must be followed by 0, 1, 2 or 3");
  if (!PlanAttr::fromString(&context, scan))
    return wrongUsage("--scan must be auto, linear, blelloch, hybrid:L (L >= 0) or chunked[:C] "
                      "(C >= 1), found '" +
                      scan + "'");
  if (!parseBytes(memoryLimit))
    return wrongUsage(
        "--memory-limit must be a whole number of bytes, or one with K, M or G, found '" +
        memoryLimit + "'");
  for (const std::string &text : batchAxes)
    if (!BatchAxisRequest::parse(text))
      return wrongUsage("--batch-axis must be NAME:AXIS, found '" + text + "'");
  if (emulate && target != "cuda")
    return wrongUsage("--emulate needs --target=cuda");
  if (gpuArch.getNumOccurrences() && target != "cuda")
    return wrongUsage("--gpu-arch needs --target=cuda");
  if (!isOneOf(precision, {"fp32", "tf32", "bf16"}))
    return wrongUsage("--precision must be fp32, tf32 or bf16, found '" + precision + "'");
  if (precision.getNumOccurrences() && target != "cuda")
    return wrongUsage("--precision needs --target=cuda; programs for CPUs compute in float32");
  if (emit == "ptx" && target != "cuda")
    return wrongUsage("--emit=ptx needs --target=cuda");
  if (emit == "asm" && target == "cuda")
    return wrongUsage("--emit=asm is for --target=cpu; use --emit=ptx");
  for (StringRef arch : llvm::split(gpuArch, ','))
    if (!isGPUArchitecture(arch))
      return wrongUsage(
          "--gpu-arch must be a list like sm_80,sm_90 of architectures from sm_80 on, "
          "found '" +
          gpuArch + "'");
  if (reportLength < 1 || reportBatch < 1)
    return wrongUsage("--report-length and --report-batch must be at least 1");
  return kFine;
}

static BackwardKind getBackwardKind() {
  return llvm::StringSwitch<BackwardKind>(backward)
      .Case("scan", BackwardKind::Scan)
      .Case("sequential", BackwardKind::Sequential)
      .Default(BackwardKind::Auto);
}

static EmitKind getEmitKind() {
  return llvm::StringSwitch<EmitKind>(emit)
      .Case("shared", EmitKind::Shared)
      .Case("obj", EmitKind::Object)
      .Case("mlir", EmitKind::MLIR)
      .Case("llvm", EmitKind::LLVM)
      .Case("asm", EmitKind::Assembly)
      .Case("ptx", EmitKind::PTX)
      .Case("report", EmitKind::Report)
      .Default(EmitKind::Executable);
}

static Phase getPhase() {
  for (Phase phase : {Phase::Import, Phase::Loss, Phase::Differentiate, Phase::Scan, Phase::Lower})
    if (compileTo == getPhaseName(phase))
      return phase;
  return Phase::End;
}

static DriverOptions getDriverOptions(const char *argv0) {
  DriverOptions options;
  options.input = inputFile;
  options.output = outputFile;
  options.compilerPath =
      llvm::sys::fs::getMainExecutable(argv0, reinterpret_cast<void *>(&getDriverOptions));
  options.training = {target == "cuda" ? TargetKind::CUDA : TargetKind::CPU,
                      loss,
                      lossOn,
                      optimizer,
                      freeze,
                      getBackwardKind(),
                      scan,
                      *parseBytes(memoryLimit),
                      precision};
  for (StringRef arch : llvm::split(gpuArch, ','))
    options.gpuArchitectures.push_back(arch.str());
  options.emulate = emulate;
  options.emit = getEmitKind();
  options.stopAfter = getPhase();
  options.dumpDirectory = dumpPhasesTo;
  options.mcpu = mcpu;
  for (const std::string &text : batchAxes)
    options.batchAxes.push_back(*BatchAxisRequest::parse(text));
  options.pruneZeros = pruneZeros;
  options.optLevel = optLevel - '0';
  options.reportLength = reportLength;
  options.reportBatch = reportBatch;
  return options;
}

static int printTargets() {
  llvm::outs() << "cpu: x86-64-v2, x86-64-v3 (AVX2), x86-64-v4 (AVX-512), chosen at run time; one "
                  "CPU with --mcpu\n"
                  "cuda: sm_80 and newer, with --gpu-arch, and PTX for what is newer still; on the "
                  "CPU with --emulate\n";
  return kFine;
}

/// Compiles; prints the first error only, so that one mistake is one line.
static int compile(MLIRContext &context, const DriverOptions &options) {
  bool reported = false;
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
    if (diagnostic.getSeverity() != DiagnosticSeverity::Error)
      return success();
    if (!reported)
      llvm::errs() << "bppsa-compile: error: " << options.input << ": " << diagnostic << "\n";
    reported = true;
    return success();
  });
  Compilation compilation(context, options);
  if (succeeded(compilation.run())) {
    if (!compilation.getWarning().empty())
      llvm::errs() << "bppsa-compile: warning: " << options.input << ": "
                   << compilation.getWarning() << "\n";
    return kFine;
  }
  if (!reported)
    return wrongInput(Twine(options.input) +
                      ": compilation failed without a message; please report it");
  return kWrongInput;
}

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  registerAsmPrinterCLOptions();
  registerMLIRContextCLOptions();
  registerPassManagerCLOptions();
  registerDefaultTimingManagerCLOptions();
  cl::SetVersionPrinter([](llvm::raw_ostream &os) {
    os << "bppsa " BPPSA_VERSION " (MLIR " LLVM_VERSION_STRING ")\n";
  });
  std::string errors;
  llvm::raw_string_ostream stream(errors);
  if (!cl::ParseCommandLineOptions(argc, argv, "Compiles an ONNX model into a trainable program\n",
                                   &stream)) {
    // What follows the first line guesses at LLVM's own options. A wrong value has been reported.
    if (!errors.empty())
      llvm::errs() << StringRef(errors).split('\n').first << "\n";
    return kWrongUsage;
  }
  if (listTargets)
    return printTargets();
  if (listSupport)
    return printSupport(llvm::outs()), kFine;

  DialectRegistry registry;
  bppsa::registerAllDialects(registry);
  MLIRContext context(registry);
  // Only the first line of a diagnostic is shown, and functions can be long.
  context.printOpOnDiagnostic(false);
  // Instruction sets are compiled in parallel, which must not load dialects.
  context.loadAllAvailableDialects();
  if (int status = checkWords(context))
    return status;
  if (inputFile.empty() || outputFile.empty())
    return wrongUsage("a model and an output file are needed: bppsa-compile MODEL.onnx -o OUT");
  return compile(context, getDriverOptions(argv[0]));
}
