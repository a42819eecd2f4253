//===- NamePattern.cpp - regular expressions of options -------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Support/NamePattern.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/ADT/Twine.h"

using namespace llvm;

Regex bppsa::compilePattern(StringRef option, StringRef pattern, std::string &wrong) {
  Regex regex(pattern);
  std::string error;
  if (!pattern.empty() && !regex.isValid(error))
    wrong = (option + " needs a regular expression, found '" + pattern + "': " + error).str();
  return regex;
}
