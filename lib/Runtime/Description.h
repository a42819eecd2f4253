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

/// Returns the output of the command `info` (docs/Reference/Programs.md).
nlohmann::ordered_json describeProgram(const Program &program);

/// Names the weights stored in Constant nodes, which are not trained. Returns an empty string if
/// there are none.
std::string describeConstantWeights(const Program &program);

} // namespace bppsa::runtime

#endif // BPPSA_LIB_RUNTIME_DESCRIPTION_H
