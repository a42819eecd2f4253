//===- RankOptions.h - The command line of several ranks ----------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_RUNTIME_DISTRIBUTED_RANKOPTIONS_H
#define BPPSA_LIB_RUNTIME_DISTRIBUTED_RANKOPTIONS_H

#include "bppsa/Runtime/Options.h"

#include <CLI/CLI.hpp>

namespace bppsa::runtime {

/// How microbatches go through the stages of `mpirun -n P`.
void addPipelineOptions(CLI::App &command, Options &options);

/// The file that says what happened when.
void addTraceOption(CLI::App &command, Options &options, const char *help);

/// How the ranks of `mpirun -n P` train together.
void addRankOptions(CLI::App &command, Options &options);

} // namespace bppsa::runtime

#endif // BPPSA_LIB_RUNTIME_DISTRIBUTED_RANKOPTIONS_H
