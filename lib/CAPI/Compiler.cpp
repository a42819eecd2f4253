//===- Compiler.cpp - compiles ONNX models to programs --------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa-c/Compiler.h"
#include "CreateProgram.h"
#include "ProgramCode.h"
#include "Support.h"
#include "bppsa/Compiler/Compiler.h"
#include "bppsa/Compiler/OptionTable.h"
#include "bppsa/Import/ImportONNX.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"
#include <dlfcn.h>

using namespace bppsa;
using namespace bppsa::capi;

struct BppsaOptionsOpaque {
  CompileOptions options;
  std::string spelling;
  BppsaCompileCallback progress = nullptr;
  void *userData = nullptr;
};

BppsaOptions bppsaOptionsCreate(void) { return new BppsaOptionsOpaque; }

void bppsaOptionsDestroy(BppsaOptions options) { delete options; }

BppsaStatus bppsaOptionsSet(BppsaOptions options, const char *name, const char *value) {
  if (!options || !name || !value)
    return setError(BppsaWrongUsage, "the options, the name or the value are null");
  if (std::optional<std::string> mistake = setOption(options->options, name, value))
    return setError(BppsaWrongUsage, std::move(*mistake));
  options->spelling += std::string(name) + "=" + value + "\n";
  return BppsaSuccess;
}

void bppsaOptionsSetProgress(BppsaOptions options, BppsaCompileCallback callback, void *userData) {
  options->progress = callback;
  options->userData = userData;
}

intptr_t bppsaGetNumOptions(void) { return static_cast<intptr_t>(getOptionTable().size()); }

BppsaOptionInfo bppsaGetOption(intptr_t index) {
  if (index < 0 || index >= bppsaGetNumOptions())
    return {};
  const OptionInfo &option = getOptionTable()[index];
  return {option.name.data(), option.value.data(), option.help.data(),
          option.form == OptionForm::Repeated};
}

namespace {
class Request {
public:
  Request(BppsaModel model, BppsaOptions given, BppsaDiagnosticCallback callback, void *userData)
      : callback(callback), userData(userData) {
    source.path = model.path ? model.path : "model.onnx";
    if (model.bytes)
      source.bytes = std::string_view(static_cast<const char *>(model.bytes), model.size);
    if (given) {
      options = given->options;
      spelling = given->spelling;
      if (given->progress)
        options.progress = [this, call = given->progress,
                            data = given->userData](const CompileProgress &progress) {
          isCancelled = !call(progress.phase, progress.done, progress.total, data);
          return !isCancelled;
        };
    }
    options.runtimeLibrary = findRuntimeLibrary();
  }

  /// Checks everything that needs no model.
  BppsaStatus check();
  BppsaStatus getFailure() const {
    return setError(isCancelled ? BppsaCancelled : BppsaWrongInput, firstError);
  }

  DiagnosticHandler getHandler() {
    return [this](const CompileDiagnostic &diagnostic) { handle(diagnostic); };
  }

  ModelSource source;
  CompileOptions options;
  std::string spelling;

private:
  static std::string findRuntimeLibrary();
  void handle(const CompileDiagnostic &diagnostic);

  BppsaDiagnosticCallback callback;
  void *userData;
  std::string firstError;
  bool isCancelled = false;
};
} // namespace

std::string Request::findRuntimeLibrary() {
  Dl_info info;
  llvm::SmallString<128> path;
  if (dladdr(reinterpret_cast<const void *>(&bppsaOptionsCreate), &info) && info.dli_fname)
    path = llvm::sys::path::parent_path(info.dli_fname);
  llvm::sys::path::append(path, "libbppsa_runtime.a");
  return path.str().str();
}

BppsaStatus Request::check() {
  std::optional<std::string> mistake = readOptionFiles(options);
  if (mistake)
    return setError(BppsaWrongInput, std::move(*mistake));
  std::vector<std::string> mistakes = validate(options);
  return mistakes.empty() ? BppsaSuccess : setError(BppsaWrongUsage, mistakes.front());
}

void Request::handle(const CompileDiagnostic &diagnostic) {
  using Severity = CompileDiagnostic::Severity;
  BppsaSeverity severity = diagnostic.severity == Severity::Error     ? BppsaError
                           : diagnostic.severity == Severity::Warning ? BppsaWarning
                                                                      : BppsaNote;
  if (severity == BppsaError && firstError.empty())
    firstError = diagnostic.message;
  if (callback)
    callback(severity, diagnostic.message.c_str(), userData);
}

BppsaStatus bppsaCompileToFile(BppsaModel model, BppsaOptions options, const char *output,
                               BppsaDiagnosticCallback callback, void *userData) {
  if (!output)
    return setError(BppsaWrongUsage, "the name of the output is null");
  Request request(model, options, callback, userData);
  if (BppsaStatus status = request.check())
    return status;
  bool written = compileModelToFile(request.source, request.options, output, request.getHandler());
  return written ? BppsaSuccess : request.getFailure();
}

BppsaStatus bppsaCompileToBytes(BppsaModel model, BppsaOptions options,
                                BppsaDiagnosticCallback callback, void *userData, char **bytes,
                                size_t *size) {
  if (!bytes || !size)
    return setError(BppsaWrongUsage, "the place for the bytes or for their number is null");
  Request request(model, options, callback, userData);
  if (BppsaStatus status = request.check())
    return status;
  std::optional<std::string> output =
      compileModel(request.source, request.options, request.getHandler());
  if (!output)
    return request.getFailure();
  // Text output can be used as a C string.
  char *copy = static_cast<char *>(malloc(output->size() + 1));
  if (!copy)
    return setError(BppsaWrongInput, "out of memory");
  memcpy(copy, output->c_str(), output->size() + 1);
  *bytes = copy;
  *size = output->size();
  return BppsaSuccess;
}

void bppsaBytesDestroy(char *bytes) { free(bytes); }

const char *bppsaGetSupportedOperators(void) {
  static const std::string text = [] {
    std::string lines;
    llvm::raw_string_ostream stream(lines);
    printSupport(stream);
    return lines;
  }();
  return text.c_str();
}

static std::optional<std::string> validateForProgram(const CompileOptions &options) {
  if (options.training.target != TargetKind::CPU)
    return "a program in this process needs --target=cpu; compile one for GPUs with --emit=shared "
           "and load it";
  if (options.emit != EmitKind::Executable || options.stopAfter != Phase::End)
    return "--emit and --compile-to write files; remove them to compile a program in this process";
  if (!options.distributed.empty())
    return "--distributed is for files: a program in this process is one process";
  if (!options.mcpu.empty())
    return "--mcpu is for files: a program in this process is made for its processor";
  return std::nullopt;
}

BppsaStatus bppsaCompileToProgram(BppsaModel model, BppsaOptions options,
                                  BppsaDiagnosticCallback callback, void *userData,
                                  BppsaProgram *program) {
  Request request(model, options, callback, userData);
  if (BppsaStatus status = request.check())
    return status;
  if (std::optional<std::string> mistake = validateForProgram(request.options))
    return setError(BppsaWrongUsage, std::move(*mistake));
  request.options.mcpu = "native";
  std::shared_ptr<ProgramCode> code =
      ProgramCode::create(request.source, request.options, request.spelling, request.getHandler());
  if (!code)
    return request.getFailure();
  return createProgram(code->getInterface(), code, program);
}
