//===- TextLists.h - lists in messages --------------------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_SUPPORT_TEXTLISTS_H
#define BPPSA_SUPPORT_TEXTLISTS_H

#include "llvm/ADT/ArrayRef.h"
#include <string>

namespace bppsa {

/// "a, b, c and 4 others"
std::string listSome(llvm::ArrayRef<std::string> texts, size_t maxShown = 6);

} // namespace bppsa

#endif // BPPSA_SUPPORT_TEXTLISTS_H
