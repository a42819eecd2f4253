//===- CommandLine.h - the flags of bppsa-compile ---------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_TOOLS_BPPSA_COMPILE_COMMANDLINE_H
#define BPPSA_TOOLS_BPPSA_COMPILE_COMMANDLINE_H

#include "bppsa/Compiler/Compiler.h"

namespace bppsa {

/// `output` is `-` for the standard output.
struct CommandLine {
  ModelSource model;
  CompileOptions options;
  std::string output;
  bool listTargets = false, listSupport = false;
};

/// After a usage error, prints one line and returns nullopt.
std::optional<CommandLine> parseCommandLine(int argc, char **argv);

/// Prints `bppsa-compile: MESSAGE`. Escapes control characters and invalid UTF-8, which names in
/// models may contain.
void printMessage(const llvm::Twine &message);

} // namespace bppsa

#endif // BPPSA_TOOLS_BPPSA_COMPILE_COMMANDLINE_H
