//===- RankOptions.h - Command-line options for several ranks ---*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_RUNTIME_DISTRIBUTED_RANKOPTIONS_H
#define BPPSA_LIB_RUNTIME_DISTRIBUTED_RANKOPTIONS_H

#include "bppsa/Runtime/Options.h"

#include <CLI/CLI.hpp>

namespace bppsa::runtime {

void addPipelineOptions(CLI::App &command, Options &options);

void addTraceOption(CLI::App &command, Options &options, const char *help);

void addRankOptions(CLI::App &command, Options &options);

} // namespace bppsa::runtime

#endif // BPPSA_LIB_RUNTIME_DISTRIBUTED_RANKOPTIONS_H
