//===- Description.h - a program in words -----------------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_RUNTIME_DESCRIPTION_H
#define BPPSA_LIB_RUNTIME_DESCRIPTION_H

#include "bppsa/Runtime/Session.h"

#include <nlohmann/json.hpp>

namespace bppsa::runtime {

/// What the command `info` prints (docs/CommandLine.md).
nlohmann::ordered_json describeProgram(const Program &program);

/// A line that names the weights that the model keeps in Constant nodes, which are not trained;
/// empty for none.
std::string describeConstantWeights(const Program &program);

} // namespace bppsa::runtime

#endif // BPPSA_LIB_RUNTIME_DESCRIPTION_H
