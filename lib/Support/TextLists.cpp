//===- TextLists.cpp - lists in messages ----------------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Support/TextLists.h"
#include "llvm/ADT/StringExtras.h"

std::string bppsa::listSome(llvm::ArrayRef<std::string> texts, size_t maxShown) {
  // One more text is as short as "and 1 others".
  if (texts.size() <= maxShown + 1)
    return llvm::join(texts, ", ");
  return llvm::join(texts.take_front(maxShown), ", ") + " and " +
         std::to_string(texts.size() - maxShown) + " others";
}
