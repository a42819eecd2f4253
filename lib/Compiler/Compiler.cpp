//===- Compiler.cpp - the compiler as a library ---------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Compiler/Compiler.h"
#include "Compilation.h"
#include "bppsa/InitAll.h"
#include "bppsa/Support/OutputFile.h"
#include "bppsa/Support/Refusal.h"

using namespace mlir;
using namespace bppsa;
using Severity = CompileDiagnostic::Severity;

template <typename Output>
static std::optional<Output>
runCompilation(const ModelSource &model, const CompileOptions &options,
               const DiagnosticHandler &handler,
               llvm::function_ref<FailureOr<Output>(Compilation &)> compile) {
  std::vector<std::string> mistakes = validate(options);
  for (std::string &mistake : mistakes)
    handler({Severity::Error, std::move(mistake)});
  if (!mistakes.empty())
    return std::nullopt;

  DialectRegistry registry;
  registerCompilerDialects(registry);
  MLIRContext context(registry);
  // Diagnostics are one line, but functions can be long.
  context.printOpOnDiagnostic(false);
  // Instruction sets are compiled in parallel, and threads must not load dialects.
  context.loadAllAvailableDialects();
  [[maybe_unused]] size_t loaded = context.getLoadedDialects().size();
  bool hasErrors = false;
  ScopedDiagnosticHandler collect(&context, [&](Diagnostic &diagnostic) {
    if (diagnostic.getSeverity() != DiagnosticSeverity::Error)
      return success();
    hasErrors = true;
    handler({Severity::Error, getUserMessage(diagnostic)});
    return success();
  });

  Compilation compilation(context, model, options);
  FailureOr<Output> output = compile(compilation);
  assert(context.getLoadedDialects().size() == loaded &&
         "registerCompilerDialects() lacks a dialect that a pass needs");
  if (failed(output) && !hasErrors)
    handler({Severity::Error, "compilation failed without a message; please report it"});
  if (failed(output) || hasErrors)
    return std::nullopt;
  for (const CompileDiagnostic &remark : compilation.getRemarks())
    handler(remark);
  return std::move(*output);
}

std::optional<std::string> bppsa::compileModel(const ModelSource &model,
                                               const CompileOptions &options,
                                               const DiagnosticHandler &handler) {
  return runCompilation<std::string>(model, options, handler,
                                     [](Compilation &compilation) { return compilation.run(); });
}

std::optional<CompiledModel> bppsa::compileModelToFunctions(const ModelSource &model,
                                                            const CompileOptions &options,
                                                            const DiagnosticHandler &handler) {
  return runCompilation<CompiledModel>(model, options, handler, [](Compilation &compilation) {
    return compilation.compileToFunctions();
  });
}

std::optional<std::vector<std::string>>
bppsa::compileFunctionsToObjects(const CompiledModel &model, const std::string &root,
                                 const std::string &path, const CompileOptions &options,
                                 const DiagnosticHandler &handler) {
  using Objects = SmallVector<std::string>;
  std::optional<Objects> objects =
      runCompilation<Objects>({path}, options, handler, [&](Compilation &compilation) {
        return compilation.compileFunctions(model, root);
      });
  if (!objects)
    return std::nullopt;
  return std::vector<std::string>(std::make_move_iterator(objects->begin()),
                                  std::make_move_iterator(objects->end()));
}

bool bppsa::compileModelToFile(const ModelSource &model, const CompileOptions &options,
                               const std::string &path, const DiagnosticHandler &handler) {
  auto report = [&](llvm::Error error) {
    handler({Severity::Error, llvm::toString(std::move(error))});
    return false;
  };
  // Check before the expensive compilation.
  if (llvm::Error error = checkWritable(path))
    return report(std::move(error));
  std::optional<std::string> output = compileModel(model, options, handler);
  if (!output)
    return false;
  bool isProgram = options.stopAfter == Phase::End &&
                   (options.emit == EmitKind::Executable || options.emit == EmitKind::Shared);
  if (llvm::Error error = writeFile(
          path, [&](llvm::raw_ostream &os) { os << *output; },
          isProgram ? FileMode::Program : FileMode::Data))
    return report(std::move(error));
  return true;
}
