//===- Commands.h - The commands other than train -------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_RUNTIME_COMMANDS_H
#define BPPSA_LIB_RUNTIME_COMMANDS_H

#include "bppsa/Runtime/Distributed/Ranks.h"
#include "bppsa/Runtime/Options.h"

namespace bppsa::runtime {

/// Results are written to stdout or --out.
void evalCommand(const Program &program, const Options &options, Ranks &ranks);
void inferCommand(const Program &program, const Options &options);
void gradCommand(const Program &program, const Options &options);
void benchCommand(const Program &program, const Options &options);
void infoCommand(const Program &program, const Options &options);

void printLine(const std::string &line);

} // namespace bppsa::runtime

#endif // BPPSA_LIB_RUNTIME_COMMANDS_H
