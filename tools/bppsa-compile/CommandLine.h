//===- CommandLine.h - the flags of bppsa-compile ---------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_TOOLS_BPPSA_COMPILE_COMMANDLINE_H
#define BPPSA_TOOLS_BPPSA_COMPILE_COMMANDLINE_H

#include "bppsa/Compiler/Compiler.h"

namespace bppsa {

/// What a command line says; `output` is `-` for the standard output.
struct CommandLine {
  ModelSource model;
  CompileOptions options;
  std::string output;
  bool listTargets = false, listSupport = false;
};

/// Reads the flags of the tool and those of MLIR. Where a word is not known, prints one line and
/// returns nothing.
std::optional<CommandLine> parseCommandLine(int argc, char **argv);

/// Prints `bppsa-compile: MESSAGE` as one line of standard error. Escapes control characters and
/// bytes that are not UTF-8, which names in models and words of the command line may contain.
void printMessage(const llvm::Twine &message);

} // namespace bppsa

#endif // BPPSA_TOOLS_BPPSA_COMPILE_COMMANDLINE_H
