//===- InitTool.h - what every tool does first ------------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_SUPPORT_INITTOOL_H
#define BPPSA_SUPPORT_INITTOOL_H

#include "llvm/Support/Debug.h"
#include "llvm/Support/PrettyStackTrace.h"
#include <cstdlib>

namespace bppsa {

/// Lets a crash ask for a report to this project, not to LLVM. In builds with assertions the
/// environment's `BPPSA_DEBUG=PASS` shows what that pass decides: packages of LLVM have no
/// `-debug-only`.
inline void initTool() {
  llvm::setBugReportMsg("This is a bug in bppsa. Please report it to where you have bppsa from, "
                        "with the command, its input and what follows.\n");
#ifndef NDEBUG
  if (const char *pass = std::getenv("BPPSA_DEBUG")) {
    llvm::DebugFlag = true;
    llvm::setCurrentDebugType(pass);
  }
#endif
}

} // namespace bppsa

#endif // BPPSA_SUPPORT_INITTOOL_H
