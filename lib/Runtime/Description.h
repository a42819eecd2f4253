//===- Description.h - JSON description of a program ------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_RUNTIME_DESCRIPTION_H
#define BPPSA_LIB_RUNTIME_DESCRIPTION_H

#include "bppsa/Runtime/Session.h"

#include <nlohmann/json.hpp>

namespace bppsa::runtime {

/// Returns the output of `info` (docs/Reference/CommandLine.md).
nlohmann::ordered_json describeProgram(const Program &program);

/// Names the untrained weights in Constant nodes; may be empty.
std::string describeConstantWeights(const Program &program);

} // namespace bppsa::runtime

#endif // BPPSA_LIB_RUNTIME_DESCRIPTION_H
