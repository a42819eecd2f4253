//===- Compiler.h - the compiler as a library -------------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// Compilations share nothing: any number of them can run in one process, one after the other or at
// the same time in several threads. None ends the process, prints, or reads the flags of the
// process. Where files may grow too large for a limit of the process, it is the caller who lets
// SIGXFSZ be ignored.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_COMPILER_COMPILER_H
#define BPPSA_COMPILER_COMPILER_H

#include "bppsa/Compiler/CompileOptions.h"
#include <optional>
#include <string_view>

namespace bppsa {

/// An ONNX model: a file, or the bytes of one.
struct ModelSource {
  /// Tensors that the model keeps in other files are looked up in the directory of this path.
  std::string path;
  /// What the file at `path` would hold; without them it is read.
  std::optional<std::string_view> bytes = std::nullopt;
};

/// What a compilation says of its model or its options.
struct CompileDiagnostic {
  enum class Severity { Note, Warning, Error };
  Severity severity;
  /// One line: what is required, what was found, the remedy. Lower case, without a period, and
  /// without the name of the model.
  std::string message;
};

/// Called for each diagnostic, one at a time, but from any thread of the compilation.
using DiagnosticHandler = std::function<void(const CompileDiagnostic &)>;

/// The bytes of what `options.emit` asks for. Nothing where the model cannot be compiled; then
/// there has been an error, and the first one says why.
std::optional<std::string> compileModel(const ModelSource &model, const CompileOptions &options,
                                        const DiagnosticHandler &handler);

/// A function that a program has, and where its code comes from.
struct ProgramFunction {
  /// Name in the program, such as `forward.sequential`.
  std::string name;
  /// The function of the module that it is made of, such as `pullback_sequential`, with all others
  /// of that root.
  std::string root;
  /// What that makes of it.
  std::string symbol, residualBytes;
};

/// A model that was compiled up to the code of its functions.
struct CompiledModel {
  /// The JSON description of the program.
  std::string description;
  /// The ONNX file to save parameters in.
  std::string onnx;
  /// The kind of code that functions will have, x86-64-v4 or the like.
  std::string instructionSet;
  /// MLIR bytecode: tensors, differentiated, with scans.
  std::string module;
  std::vector<ProgramFunction> functions;

  /// All of it as texts, for a cache; nothing where texts are no model.
  std::vector<std::string> toTexts() const;
  static std::optional<CompiledModel> fromTexts(std::vector<std::string> texts);
};

/// Compiles a model for the processor of `options.mcpu`, without code for any function.
/// `options.emit` and `options.stopAfter` have their defaults, and the target is the CPU.
std::optional<CompiledModel> compileModelToFunctions(const ModelSource &model,
                                                     const CompileOptions &options,
                                                     const DiagnosticHandler &handler);

/// The objects of all functions of that root, to be loaded into a process
/// (bppsa/Target/LoadedProgram.h). `path` is that of the model, `options` are those that it was
/// compiled with.
std::optional<std::vector<std::string>> compileFunctionsToObjects(const CompiledModel &model,
                                                                  const std::string &root,
                                                                  const std::string &path,
                                                                  const CompileOptions &options,
                                                                  const DiagnosticHandler &handler);

/// Writes what `compileModel` returns to the file `path`, which appears whole or not at all.
/// Returns whether it did.
bool compileModelToFile(const ModelSource &model, const CompileOptions &options,
                        const std::string &path, const DiagnosticHandler &handler);

} // namespace bppsa

#endif // BPPSA_COMPILER_COMPILER_H
