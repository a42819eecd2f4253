//===- NamePattern.h - regular expressions of options -----------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_SUPPORT_NAMEPATTERN_H
#define BPPSA_SUPPORT_NAMEPATTERN_H

#include "llvm/Support/Regex.h"
#include <string>

namespace bppsa {

/// Sets `wrong` on error. An empty `pattern` matches nothing.
llvm::Regex compilePattern(llvm::StringRef option, llvm::StringRef pattern, std::string &wrong);

} // namespace bppsa

#endif // BPPSA_SUPPORT_NAMEPATTERN_H
