//===- UnknownWords.h - Errors for malformed command lines ----------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_RUNTIME_UNKNOWNWORDS_H
#define BPPSA_LIB_RUNTIME_UNKNOWNWORDS_H

#include <CLI/CLI.hpp>

#include <string>

namespace bppsa::runtime {

/// Requires the first word to be a command or an option of the program.
void checkFirstWord(const CLI::App &app, int argc, char **argv);

/// Reports unknown words in preference to missing options that result from them.
std::string describe(const CLI::App &app, const CLI::ParseError &error);

} // namespace bppsa::runtime

#endif // BPPSA_LIB_RUNTIME_UNKNOWNWORDS_H
