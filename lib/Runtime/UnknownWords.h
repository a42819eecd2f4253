//===- UnknownWords.h - Command lines that are not understood --------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_RUNTIME_UNKNOWNWORDS_H
#define BPPSA_LIB_RUNTIME_UNKNOWNWORDS_H

#include <CLI/CLI.hpp>

#include <string>

namespace bppsa::runtime {

/// Throws UsageError unless the first word is a command of `app`, or an option of the program
/// itself.
void checkFirstWord(const CLI::App &app, int argc, char **argv);

/// What is wrong with the command line; a word that is not known is worth more than what is missing
/// because of it.
std::string describe(const CLI::App &app, const CLI::ParseError &error);

} // namespace bppsa::runtime

#endif // BPPSA_LIB_RUNTIME_UNKNOWNWORDS_H
