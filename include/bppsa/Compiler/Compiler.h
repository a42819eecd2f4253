//===- Compiler.h - the compiler as a library -------------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// Compilations share no state, never exit or print, and can run in parallel. If output may exceed a
// file size limit of the process, the caller must ignore SIGXFSZ.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_COMPILER_COMPILER_H
#define BPPSA_COMPILER_COMPILER_H

#include "bppsa/Compiler/CompileOptions.h"
#include <optional>
#include <string_view>

namespace bppsa {

struct ModelSource {
  /// Path of the model; external tensor data is relative to its directory.
  std::string path;
  /// The contents of the file; if absent, `path` is read.
  std::optional<std::string_view> bytes = std::nullopt;
};

struct CompileDiagnostic {
  enum class Severity { Note, Warning, Error };
  Severity severity;
  /// One line in lower case, without a period or the name of the model.
  std::string message;
};

/// Called for one diagnostic at a time, but from any thread of the compilation.
using DiagnosticHandler = std::function<void(const CompileDiagnostic &)>;

/// Returns the output selected by `options.emit`, or nothing after an error diagnostic.
std::optional<std::string> compileModel(const ModelSource &model, const CompileOptions &options,
                                        const DiagnosticHandler &handler);

struct ProgramFunction {
  std::string name;
  /// The module function from which it is derived. Functions with the same root are compiled
  /// together.
  std::string root;
  /// Names of the derived function and of the function that computes its residual bytes.
  std::string symbol, residualBytes;
};

/// A model compiled up to code generation.
struct CompiledModel {
  std::string description;
  /// The ONNX file in which parameters are saved.
  std::string onnx;
  /// Instruction set for code generation, such as x86-64-v4.
  std::string instructionSet;
  /// MLIR bytecode, after differentiation and scans.
  std::string module;
  std::vector<ProgramFunction> functions;

  /// Converts the model to texts, for a cache. `fromTexts` returns nothing for invalid texts.
  std::vector<std::string> toTexts() const;
  static std::optional<CompiledModel> fromTexts(std::vector<std::string> texts);
};

/// Compiles a model for the CPU of `options.mcpu` without generating code for its functions.
std::optional<CompiledModel> compileModelToFunctions(const ModelSource &model,
                                                     const CompileOptions &options,
                                                     const DiagnosticHandler &handler);

/// Generates the objects of all functions with the root `root`, to be loaded into a process.
/// `options` must be those of the model.
std::optional<std::vector<std::string>> compileFunctionsToObjects(const CompiledModel &model,
                                                                  const std::string &root,
                                                                  const std::string &path,
                                                                  const CompileOptions &options,
                                                                  const DiagnosticHandler &handler);

/// Compiles a model and writes the output to `path`, completely or not at all.
bool compileModelToFile(const ModelSource &model, const CompileOptions &options,
                        const std::string &path, const DiagnosticHandler &handler);

} // namespace bppsa

#endif // BPPSA_COMPILER_COMPILER_H
