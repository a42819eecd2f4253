//===- Compiler.cpp - the compiler as a library ---------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Compiler/Compiler.h"
#include "Compilation.h"
#include "bppsa/InitAll.h"
#include "bppsa/Support/OutputFile.h"

using namespace mlir;
using namespace bppsa;
using Severity = CompileDiagnostic::Severity;

std::optional<std::string> bppsa::compileModel(const ModelSource &model,
                                               const CompileOptions &options,
                                               const DiagnosticHandler &handler) {
  std::vector<std::string> mistakes = validate(options);
  for (std::string &mistake : mistakes)
    handler({Severity::Error, std::move(mistake)});
  if (!mistakes.empty())
    return std::nullopt;

  DialectRegistry registry;
  registerAllDialects(registry);
  MLIRContext context(registry);
  // A diagnostic is one line, and functions can be long.
  context.printOpOnDiagnostic(false);
  // Instruction sets are compiled in parallel, which must not load dialects.
  context.loadAllAvailableDialects();
  bool hasErrors = false;
  ScopedDiagnosticHandler collect(&context, [&](Diagnostic &diagnostic) {
    if (diagnostic.getSeverity() != DiagnosticSeverity::Error)
      return success();
    hasErrors = true;
    handler({Severity::Error, diagnostic.str()});
    return success();
  });

  Compilation compilation(context, model, options);
  FailureOr<std::string> output = compilation.run();
  if (failed(output) && !hasErrors)
    handler({Severity::Error, "compilation failed without a message; please report it"});
  if (failed(output) || hasErrors)
    return std::nullopt;
  for (const CompileDiagnostic &remark : compilation.getRemarks())
    handler(remark);
  return std::move(*output);
}

bool bppsa::compileModelToFile(const ModelSource &model, const CompileOptions &options,
                               const std::string &path, const DiagnosticHandler &handler) {
  auto report = [&](llvm::Error error) {
    handler({Severity::Error, llvm::toString(std::move(error))});
    return false;
  };
  // Before the work of a compilation.
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
