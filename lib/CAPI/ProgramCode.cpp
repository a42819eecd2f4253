//===- ProgramCode.cpp - just-in-time code of programs --------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "ProgramCode.h"
#include "RuntimeSymbols.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/bit.h"
#include <cfenv>
#include <cstring>

using namespace bppsa;
using namespace bppsa::capi;

namespace {
/// Program calls flush subnormals, which would change constants folded by the compiler.
class DefaultArithmetic {
public:
  DefaultArithmetic() {
    fegetenv(&before);
    fesetenv(FE_DFL_ENV);
  }
  ~DefaultArithmetic() { fesetenv(&before); }
  DefaultArithmetic(const DefaultArithmetic &) = delete;

private:
  fenv_t before;
};
} // namespace

ProgramCode::ProgramCode(CompiledModel given, std::string path, CompileOptions options,
                         std::optional<std::string> key)
    : model(std::move(given)), path(std::move(path)), options(std::move(options)),
      key(std::move(key)),
      instructionSets{{model.instructionSet.c_str(), nullptr}, {nullptr, nullptr}} {
  for (const ProgramFunction &function : model.functions)
    functions.push_back({function.name.c_str(), nullptr, nullptr, nullptr});
  functions.push_back({nullptr, nullptr, nullptr, nullptr});
}

std::shared_ptr<ProgramCode> ProgramCode::create(const ModelSource &source, CompileOptions options,
                                                 std::string spelling,
                                                 const DiagnosticHandler &handler) {
  using Texts = std::vector<std::string>;
  ObjectCache cache = ObjectCache::fromEnvironment();
  // Include the contents of files named by options. Dumping IR requires a compilation, hence no
  // cache.
  for (float weight : options.training.classWeights)
    spelling += std::to_string(llvm::bit_cast<uint32_t>(weight)) + "\n";
  std::optional<std::string> key;
  if (cache.isEnabled() && options.dumpDirectory.empty())
    key = getObjectKey(source, spelling);
  auto compile = [&](const DiagnosticHandler &handler) -> std::optional<Texts> {
    std::optional<CompiledModel> model = compileModelToFunctions(source, options, handler);
    return model ? std::optional<Texts>(model->toTexts()) : std::nullopt;
  };
  std::optional<Texts> texts = key ? cache.get(*key, handler, compile) : compile(handler);
  std::optional<CompiledModel> model =
      texts ? CompiledModel::fromTexts(std::move(*texts)) : std::nullopt;
  if (!model)
    return nullptr;
  // The receiver of progress events may be gone later.
  options.progress = nullptr;
  return std::shared_ptr<ProgramCode>(
      new ProgramCode(std::move(*model), source.path, std::move(options), std::move(key)));
}

runtime::ProgramInterface ProgramCode::getInterface() {
  return {model.description.data(),
          model.description.size(),
          reinterpret_cast<const unsigned char *>(model.onnx.data()),
          model.onnx.size(),
          functions.data(),
          instructionSets,
          &kernels,
          [this](const std::string &name, bppsa_function &function, std::string &error) {
            return load(name, function, error);
          }};
}

std::unique_ptr<LoadedProgram> ProgramCode::compile(const std::string &root,
                                                    std::string &error) const {
  DefaultArithmetic arithmetic;
  auto handler = [&](const CompileDiagnostic &diagnostic) {
    if (diagnostic.severity == CompileDiagnostic::Severity::Error && error.empty())
      error = diagnostic.message;
  };
  auto compile = [&](const DiagnosticHandler &handler) {
    return compileFunctionsToObjects(model, root, path, options, handler);
  };
  std::optional<std::vector<std::string>> objects =
      key ? ObjectCache::fromEnvironment().get(*key + "-" + root, handler, compile)
          : compile(handler);
  if (!objects)
    return nullptr;
  std::unique_ptr<LoadedProgram> program =
      LoadedProgram::create(*objects, getRuntimeSymbols(), error);
  if (!program)
    return nullptr;
  // The first lookup triggers linking.
  auto *sets =
      static_cast<const bppsa_instruction_set *>(program->lookup("bppsa_instruction_sets"));
  auto *kernels = static_cast<const void *const **>(program->lookup("bppsa_kernels"));
  if (!sets || !kernels) {
    error = "it cannot be linked in memory; please report it";
    return nullptr;
  }
  *kernels = sets->kernels;
  return program;
}

bool ProgramCode::load(const std::string &name, bppsa_function &function, std::string &error) {
  std::lock_guard lock(mutex);
  const ProgramFunction &wanted = *llvm::find_if(
      model.functions, [&](const ProgramFunction &known) { return known.name == name; });
  std::unique_ptr<LoadedProgram> &program = loaded[wanted.root];
  if (!program && !(program = compile(wanted.root, error)))
    return false;
  auto *rows = static_cast<const bppsa_function *>(program->lookup("bppsa_functions"));
  while (strcmp(rows->name, name.c_str()) != 0)
    ++rows;
  function = *rows;
  return true;
}
