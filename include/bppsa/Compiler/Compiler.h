//===- Compiler.h - the compiler as a library -------------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// Compilations share no state: any number of them can run in one process, in sequence or in
// parallel. They never exit, print, or read flags of the process. If output may exceed a file size
// limit of the process, the caller must ignore SIGXFSZ.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_COMPILER_COMPILER_H
#define BPPSA_COMPILER_COMPILER_H

#include "bppsa/Compiler/CompileOptions.h"
#include <optional>
#include <string_view>

namespace bppsa {

/// An ONNX model: a file, or its bytes.
struct ModelSource {
  /// Path of the model. External tensor data is located relative to its directory.
  std::string path;
  /// The contents of the file; if absent, `path` is read.
  std::optional<std::string_view> bytes = std::nullopt;
};

/// A diagnostic about the model or the options.
struct CompileDiagnostic {
  enum class Severity { Note, Warning, Error };
  Severity severity;
  /// One line: the requirement, the actual value, the remedy. Lower case, without a period, and
  /// without the name of the model.
  std::string message;
};

/// Called for one diagnostic at a time, but from any thread of the compilation.
using DiagnosticHandler = std::function<void(const CompileDiagnostic &)>;

/// Returns the output selected by `options.emit`. Returns nothing if the model cannot be compiled;
/// the first error diagnostic then gives the reason.
std::optional<std::string> compileModel(const ModelSource &model, const CompileOptions &options,
                                        const DiagnosticHandler &handler);

/// A function of a program, and the module function from which it is compiled.
struct ProgramFunction {
  /// Name in the program, such as `forward.sequential`.
  std::string name;
  /// The function of the module from which it is derived, such as `pullback_sequential`. Functions
  /// with the same root are compiled together.
  std::string root;
  /// Names of the derived function and of the function that computes its residual bytes.
  std::string symbol, residualBytes;
};

/// A model that was compiled up to code generation.
struct CompiledModel {
  /// The JSON description of the program.
  std::string description;
  /// The ONNX file in which parameters are saved.
  std::string onnx;
  /// Instruction set for code generation, such as x86-64-v4.
  std::string instructionSet;
  /// MLIR bytecode: tensors, after differentiation and scans.
  std::string module;
  std::vector<ProgramFunction> functions;

  /// Converts the model to texts, for a cache. `fromTexts` returns nothing for invalid texts.
  std::vector<std::string> toTexts() const;
  static std::optional<CompiledModel> fromTexts(std::vector<std::string> texts);
};

/// Compiles a model for the processor of `options.mcpu` without generating code for its functions.
/// `options.emit` and `options.stopAfter` must have their defaults, and the target must be the CPU.
std::optional<CompiledModel> compileModelToFunctions(const ModelSource &model,
                                                     const CompileOptions &options,
                                                     const DiagnosticHandler &handler);

/// Generates the objects of all functions with the root `root`, to be loaded into a process
/// (bppsa/Target/LoadedProgram.h). `path` is the path of the model, and `options` are the options
/// with which it was compiled.
std::optional<std::vector<std::string>> compileFunctionsToObjects(const CompiledModel &model,
                                                                  const std::string &root,
                                                                  const std::string &path,
                                                                  const CompileOptions &options,
                                                                  const DiagnosticHandler &handler);

/// Compiles a model and writes the output to the file `path`, completely or not at all. Returns
/// whether it succeeded.
bool compileModelToFile(const ModelSource &model, const CompileOptions &options,
                        const std::string &path, const DiagnosticHandler &handler);

} // namespace bppsa

#endif // BPPSA_COMPILER_COMPILER_H
