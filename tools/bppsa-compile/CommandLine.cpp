//===- CommandLine.cpp - the flags of bppsa-compile -----------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "CommandLine.h"
#include "bppsa/Compiler/OptionTable.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/JSON.h"
#include <deque>

using namespace bppsa;
using llvm::StringRef;
namespace cl = llvm::cl;

static CommandLine commandLine;

void bppsa::printMessage(const llvm::Twine &message) {
  std::string text = message.str();
  bool isUTF8 = llvm::json::isUTF8(text);
  std::string line = "bppsa-compile: ";
  llvm::raw_string_ostream os(line);
  for (unsigned char c : text)
    if (c < 0x20 || c == 0x7f || (c >= 0x80 && !isUTF8))
      os << "\\x" << llvm::format_hex_no_prefix(c, 2);
    else
      os << c;
  llvm::errs() << line << "\n";
}

/// In the order of OptionGroup.
static cl::OptionCategory categories[] = {
    cl::OptionCategory("1. Model and parameters"), cl::OptionCategory("2. Loss and optimizer"),
    cl::OptionCategory("3. Backward pass"), cl::OptionCategory("4. Target"),
    cl::OptionCategory("5. Output")};
static cl::OptionCategory &outputCategory = categories[size_t(OptionGroup::Output)];

static cl::opt<std::string, /*ExternalStorage=*/true>
    inputFile(cl::Positional, cl::desc("MODEL.onnx"), cl::location(commandLine.model.path),
              cl::cat(categories[size_t(OptionGroup::Model)]));
static cl::opt<std::string, /*ExternalStorage=*/true>
    outputFile("o", cl::desc("Output file; - is the standard output"),
               cl::location(commandLine.output), cl::value_desc("OUT"), cl::cat(outputCategory));
static cl::opt<bool, /*ExternalStorage=*/true>
    listTargets("list-targets", cl::cat(outputCategory), cl::location(commandLine.listTargets),
                cl::desc("Print the targets of this build"));
static cl::opt<bool, /*ExternalStorage=*/true>
    listSupport("list-support", cl::cat(outputCategory), cl::location(commandLine.listSupport),
                cl::desc("Print the ONNX operators that are supported"));

namespace {
class TableOption : public cl::list<std::string> {
public:
  explicit TableOption(const OptionInfo &info)
      : cl::list<std::string>(info.name, cl::desc(info.help), cl::value_desc(info.value),
                              cl::cat(categories[size_t(info.group)])),
        info(info) {
    bool mayLackValue = info.form == OptionForm::Flag || info.form == OptionForm::OptionalValue;
    setValueExpectedFlag(mayLackValue ? cl::ValueOptional : cl::ValueRequired);
    setNumOccurrencesFlag(info.form == OptionForm::Repeated ? cl::ZeroOrMore : cl::Optional);
    // Allows -O3.
    if (info.name.size() == 1)
      setFormattingFlag(cl::Prefix);
  }

  /// Returns false after an error.
  bool apply(CompileOptions &options) {
    return llvm::all_of(*this, [&](const std::string &value) {
      std::optional<std::string> mistake = setOption(options, info.name, value);
      if (mistake)
        printMessage(*mistake);
      return !mistake;
    });
  }

private:
  const OptionInfo &info;
};
} // namespace

static std::deque<TableOption> &getTableOptions() {
  static std::deque<TableOption> options(getOptionTable().begin(), getOptionTable().end());
  return options;
}

static std::nullopt_t refuse(const llvm::Twine &message) {
  printMessage(message);
  return std::nullopt;
}

/// Returns true for options of this tool, rather than of MLIR or LLVM.
static bool isOurs(const cl::Option &option) {
  return llvm::any_of(option.Categories, [](const cl::OptionCategory *category) {
    return category >= std::begin(categories) && category < std::end(categories);
  });
}

/// --help-hidden shows the others.
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

/// LLVM would interpret an unknown `--o...` as several options in one argument.
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
  std::deque<TableOption> &options = getTableOptions();
  hideOthers();
  if (const char *word = findUnknown(argc, argv)) {
    StringRef guess = guessOption(StringRef(word).ltrim('-').split('=').first);
    std::string remedy = guess.empty() ? "" : ", did you mean '--" + guess.str() + "'";
    return refuse("unknown option '" + llvm::Twine(word) + "'" + remedy + "; see --help");
  }
  std::string errors;
  llvm::raw_string_ostream stream(errors);
  if (!cl::ParseCommandLineOptions(argc, argv, "Compiles an ONNX model into a trainable program\n",
                                   &stream)) {
    // Skips the program name and LLVM's suggestions. Errors in values have been printed.
    if (!errors.empty())
      return refuse(StringRef(errors).split('\n').first.split(": ").second);
    return std::nullopt;
  }
  if (!llvm::all_of(options, [](TableOption &option) { return option.apply(commandLine.options); }))
    return std::nullopt;
  return commandLine;
}
