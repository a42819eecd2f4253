//===- CommandLine.cpp - the flags of bppsa-compile -----------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "CommandLine.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/CommandLine.h"

using namespace bppsa;
using llvm::StringRef;
namespace cl = llvm::cl;

namespace {
/// A parser of words whose error says which there are.
template <typename T> struct WordParser : cl::parser<T> {
  using cl::parser<T>::parser;

  bool parse(cl::Option &option, StringRef name, StringRef word, T &value) {
    std::string words;
    for (auto [number, known] : llvm::enumerate(this->Values)) {
      bool isLast = number + 1 == this->Values.size();
      words += (number == 0 ? "" : isLast ? " or " : ", ") + known.Name.str();
      if (known.Name == word) {
        value = known.V.getValue();
        return false;
      }
    }
    return option.error("must be " + words + ", found '" + word + "'");
  }
};
} // namespace

template <typename T> using WordOption = cl::opt<T, /*ExternalStorage=*/true, WordParser<T>>;
using TextOption = cl::opt<std::string, /*ExternalStorage=*/true>;
using TextsOption = cl::list<std::string, std::vector<std::string>>;

static CommandLine commandLine;
static ModelSource &model = commandLine.model;
static CompileOptions &options = commandLine.options;

static cl::OptionCategory modelCategory("1. Model and parameters");
static cl::OptionCategory lossCategory("2. Loss and optimizer");
static cl::OptionCategory backwardCategory("3. Backward pass");
static cl::OptionCategory targetCategory("4. Target");
static cl::OptionCategory outputCategory("5. Output");
static TextOption inputFile(cl::Positional, cl::desc("MODEL.onnx"), cl::location(model.path),
                            cl::cat(modelCategory));
static TextOption outputFile("o", cl::desc("Output file; - is the standard output"),
                             cl::location(commandLine.output), cl::value_desc("OUT"),
                             cl::cat(outputCategory));
static WordOption<TargetKind>
    target("target", cl::cat(targetCategory), cl::desc("What kernels run on (default cpu)"),
           cl::location(options.training.target),
           cl::values(clEnumValN(TargetKind::CPU, "cpu", "x86-64"),
                      clEnumValN(TargetKind::CUDA, "cuda", "NVIDIA GPUs")));
static TextsOption gpuArch("gpu-arch", cl::CommaSeparated, cl::cat(targetCategory),
                           cl::location(options.gpuArchitectures),
                           cl::desc("GPU architectures (--target=cuda; default sm_90)"));
static TextOption precision("precision", cl::cat(targetCategory),
                            cl::location(options.training.precision),
                            cl::desc("What tensor cores multiply (--target=cuda): fp32 (default), "
                                     "tf32 or bf16"));
static cl::opt<bool, true> emulate("emulate", cl::cat(targetCategory),
                                   cl::location(options.emulate),
                                   cl::desc("Run GPU kernels on the CPU (--target=cuda)"));
static cl::list<std::string>
    losses("loss", cl::CommaSeparated, cl::cat(lossCategory), cl::value_desc("KIND"),
           cl::desc("cross-entropy (default), nll, mse, l1, huber, bce-with-logits, "
                    "or none: the model's own scalar output is the loss; one, or one "
                    "for each output of --loss-on"));
static TextsOption lossOn("loss-on", cl::CommaSeparated, cl::cat(lossCategory),
                          cl::location(options.training.lossOn), cl::value_desc("NAME"),
                          cl::desc("Graph outputs that feed the losses (default: first)"));
static cl::list<double> lossWeights("loss-weights", cl::CommaSeparated, cl::cat(lossCategory),
                                    cl::value_desc("X"),
                                    cl::desc("What each of several losses counts in their sum "
                                             "(default 1)"));
static TextOption classWeights("class-weights", cl::cat(lossCategory),
                               cl::location(commandLine.classWeights), cl::value_desc("FILE.npy"),
                               cl::desc("A weight for each class of cross-entropy or nll"));
static cl::opt<double, true> labelSmoothing(
    "label-smoothing", cl::cat(lossCategory), cl::location(options.training.labelSmoothing),
    cl::value_desc("X"),
    cl::desc("Share of each target of cross-entropy that is spread over all classes (default 0)"));
static cl::opt<int64_t>
    ignoreIndex("ignore-index", cl::cat(lossCategory), cl::value_desc("I"),
                cl::desc("Positions of cross-entropy and nll with this target count nothing"));
static TextsOption freezeRows("freeze-rows", cl::cat(modelCategory), cl::value_desc("NAME:ROW"),
                              cl::location(options.freezeRows),
                              cl::desc("Row of an initializer that is not trained"));
static TextOption optimizer("optimizer", cl::cat(lossCategory),
                            cl::location(options.training.optimizer),
                            cl::desc("sgd, momentum, adam (default), adamw or rmsprop"));
static TextOption freeze("freeze", cl::cat(modelCategory), cl::location(options.training.freeze),
                         cl::value_desc("REGEX"),
                         cl::desc("Float initializers that are not trained"));
static TextOption train("train", cl::cat(modelCategory), cl::value_desc("REGEX"),
                        cl::location(options.train),
                        cl::desc("Float initializers that are trained though they look like "
                                 "constants of an exporter"));
static cl::opt<std::string> untie("untie", cl::cat(modelCategory), cl::ValueOptional,
                                  cl::value_desc("REGEX"),
                                  cl::desc("Initializers of their own for the uses of those that "
                                           "look merged, or of those whose names match"));
static cl::opt<std::string> trainingMode("training-mode", cl::cat(modelCategory), cl::ValueOptional,
                                         cl::value_desc("REGEX"),
                                         cl::desc("BatchNormalization and Dropout nodes that are "
                                                  "trained as with training_mode 1, all or those "
                                                  "whose names match"));
static WordOption<BackwardKind>
    backward("backward", cl::cat(backwardCategory), cl::location(options.training.backward),
             cl::desc("Backward passes of the program (default auto)"),
             cl::values(clEnumValN(BackwardKind::Auto, "auto", "both, chosen at run time"),
                        clEnumValN(BackwardKind::Scan, "scan", "by the plan of --scan"),
                        clEnumValN(BackwardKind::Sequential, "sequential", "step by step")));
static TextOption
    scan("scan", cl::cat(backwardCategory), cl::location(options.training.scan),
         cl::desc("auto (default), linear, blelloch, hybrid:L, chunked:C, or chunked: C is "
                  "chosen at run time"));
static TextsOption batchAxes("batch-axis", cl::cat(modelCategory), cl::value_desc("NAME:AXIS"),
                             cl::location(options.batchAxes),
                             cl::desc("Sample axis of a graph input or output"));
static TextsOption dynamicAxes("dynamic", cl::cat(modelCategory), cl::value_desc("NAME:AXIS"),
                               cl::location(options.dynamicAxes),
                               cl::desc("Axis of a graph input that takes any size, though the "
                                        "exporter fixed one"));
static TextsOption carries("carry", cl::CommaSeparated, cl::cat(modelCategory),
                           cl::value_desc("IN:OUT"), cl::location(options.carries),
                           cl::desc("The model is one step of a stream: graph output OUT is graph "
                                    "input IN of the next step"));
static TextsOption stepAxes("step-axis", cl::cat(modelCategory), cl::value_desc("NAME:AXIS"),
                            cl::location(options.stepAxes),
                            cl::desc("With --carry: axis of size 1 that carries steps"));
static TextsOption
    bindings("bind", cl::cat(modelCategory), cl::value_desc("NAME=VALUE"),
             cl::location(options.bindings),
             cl::desc("Graph input that is a constant (a scalar or a comma-separated "
                      "list), or symbolic dimension that is a number"));
static TextOption jacobians("jacobians", cl::cat(backwardCategory), cl::value_desc("KIND"),
                            cl::location(options.training.jacobians),
                            cl::desc("structured (default), or dense: those of scans with all "
                                     "their elements, column by column, to check the others"));
static cl::opt<std::string> memoryLimit(
    "memory-limit", cl::init("1G"), cl::cat(backwardCategory), cl::value_desc("BYTES"),
    cl::desc(
        "Most memory for the explicit jacobians of layers and one sample (default 1G), and for "
        "what loops over graphs keep of their steps (default 0), as in 500M or 2G; 0 for no "
        "limit"));
static cl::opt<bool, true>
    pruneZeros("prune-zeros", cl::cat(modelCategory), cl::location(options.pruneZeros),
               cl::desc("Elements of the model's matrices and kernels that are zero stay zero, and "
                        "explicit jacobians leave them out"));
static WordOption<EmitKind>
    emit("emit", cl::cat(outputCategory), cl::location(options.emit),
         cl::desc("What is made (default exe)"),
         cl::values(clEnumValN(EmitKind::Executable, "exe", "a trainable program"),
                    clEnumValN(EmitKind::Shared, "shared", "a shared library"),
                    clEnumValN(EmitKind::Object, "obj", "an object"),
                    clEnumValN(EmitKind::MLIR, "mlir", "IR before the target is looked at"),
                    clEnumValN(EmitKind::LLVM, "llvm", "LLVM IR"),
                    clEnumValN(EmitKind::Assembly, "asm", "assembly (--target=cpu)"),
                    clEnumValN(EmitKind::PTX, "ptx", "PTX (--target=cuda)"),
                    clEnumValN(EmitKind::Report, "report", "what scan plans cost, as a page")));
static cl::opt<int64_t, true>
    reportLength("report-length", cl::cat(outputCategory), cl::location(options.reportLength),
                 cl::value_desc("T"),
                 cl::desc("Time steps that a report assumes where the model leaves them open "
                          "(default 1000)"));
static cl::opt<int64_t, true>
    reportBatch("report-batch", cl::cat(outputCategory), cl::location(options.reportBatch),
                cl::value_desc("B"),
                cl::desc("Samples that a report assumes where the model leaves them open "
                         "(default 16)"));
static WordOption<Phase>
    compileTo("compile-to", cl::cat(outputCategory), cl::location(options.stopAfter),
              cl::desc("Stop after a phase and write that IR (default end)"),
              cl::values(clEnumValN(Phase::Import, "import", "the forward function"),
                         clEnumValN(Phase::Loss, "loss", "with the loss"),
                         clEnumValN(Phase::Differentiate, "differentiate", "with gradients"),
                         clEnumValN(Phase::Scan, "scan", "with scan plans"),
                         clEnumValN(Phase::Lower, "lower", "the LLVM dialect"),
                         clEnumValN(Phase::End, "end", "everything")));
static TextOption dumpPhasesTo("dump-phases-to", cl::cat(outputCategory), cl::value_desc("DIR"),
                               cl::location(options.dumpDirectory),
                               cl::desc("Write the IR after every phase"));
static cl::opt<std::string> optLevel("O", cl::Prefix, cl::init("3"), cl::cat(targetCategory),
                                     cl::desc("Optimisation level, 0 to 3 (default 3)"));
static TextOption mcpu("mcpu", cl::cat(targetCategory), cl::location(options.mcpu),
                       cl::desc("Generate code for one CPU (native or an LLVM name) instead of "
                                "every x86-64 level"));
static cl::opt<bool, true> listTargets("list-targets", cl::cat(outputCategory),
                                       cl::location(commandLine.listTargets),
                                       cl::desc("Print the targets of this build"));
static cl::opt<bool, true> listSupport("list-support", cl::cat(outputCategory),
                                       cl::location(commandLine.listSupport),
                                       cl::desc("Print the ONNX operators that are supported"));

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

/// Prints a usage error.
static std::nullopt_t refuse(const llvm::Twine &message) {
  llvm::errs() << "bppsa-compile: " << message << "\n";
  return std::nullopt;
}

/// Whether an option is one of ours; the others are those of MLIR and LLVM.
static bool isOurs(const cl::Option &option) {
  const cl::OptionCategory *ours[] = {&modelCategory, &lossCategory, &backwardCategory,
                                      &targetCategory, &outputCategory};
  return llvm::any_of(option.Categories, [&](const cl::OptionCategory *category) {
    return llvm::is_contained(ours, category);
  });
}

/// Leaves our options in --help, and the others to --help-hidden.
static void hideOthers() {
  for (auto &entry : cl::getRegisteredOptions()) {
    cl::Option &option = *entry.second;
    if (entry.first == "help-hidden")
      option.setHiddenFlag(cl::NotHidden);
    else if (!isOurs(option) && entry.first != "help" && entry.first != "version" &&
             option.getOptionHiddenFlag() == cl::NotHidden)
      option.setHiddenFlag(cl::Hidden);
  }
}

/// ", did you mean '--loss'" where `name` is nearly that of an option of ours.
static std::string guessOption(StringRef name) {
  unsigned best = name.size() / 3 + 1;
  StringRef guess;
  for (auto &entry : cl::getRegisteredOptions())
    if (unsigned distance = name.edit_distance(entry.first);
        isOurs(*entry.second) && distance <= best && entry.first.size() > 1) {
      best = distance;
      guess = entry.first;
    }
  return guess.empty() ? "" : (", did you mean '--" + guess + "'").str();
}

/// The first word that begins like an option and is none; null where there is none. LLVM would take
/// one that begins with `--o` for several options in one word.
static const char *findUnknown(int argc, char **argv) {
  for (int i = 1; i < argc && StringRef(argv[i]) != "--"; ++i) {
    StringRef word = argv[i];
    if (word.consume_front("--") && !word.starts_with("O") &&
        !cl::getRegisteredOptions().contains(word.split('=').first))
      return argv[i];
  }
  return nullptr;
}

std::optional<CommandLine> bppsa::parseCommandLine(int argc, char **argv) {
  hideOthers();
  if (const char *word = findUnknown(argc, argv))
    return refuse("unknown option '" + llvm::Twine(word) + "'" +
                  guessOption(StringRef(word).ltrim('-').split('=').first) + "; see --help");
  std::string errors;
  llvm::raw_string_ostream stream(errors);
  if (!cl::ParseCommandLineOptions(argc, argv, "Compiles an ONNX model into a trainable program\n",
                                   &stream)) {
    // What follows the first line guesses at LLVM's own options. A wrong value has been reported.
    if (!errors.empty())
      llvm::errs() << StringRef(errors).split('\n').first << "\n";
    return std::nullopt;
  }
  std::optional<int64_t> bytes = parseBytes(memoryLimit);
  if (!bytes)
    return refuse("--memory-limit must be a whole number of bytes, or one with K, M or G, found '" +
                  memoryLimit + "'");
  if (StringRef(optLevel).getAsInteger(10, options.optLevel))
    return refuse("-O must be followed by 0, 1, 2 or 3, found '" + optLevel + "'");
  if (memoryLimit.getNumOccurrences() != 0)
    options.training.memoryLimit = *bytes;
  if (losses.getNumOccurrences() != 0)
    options.training.losses.assign(losses.begin(), losses.end());
  options.training.lossWeights.assign(lossWeights.begin(), lossWeights.end());
  if (ignoreIndex.getNumOccurrences() != 0)
    options.training.ignoreIndex = ignoreIndex;
  if (untie.getNumOccurrences() != 0)
    options.untie = untie;
  if (trainingMode.getNumOccurrences() != 0)
    options.trainingMode = trainingMode;
  return commandLine;
}
