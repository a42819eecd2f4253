//===- InitTool.h - initialization of tools ---------------------*- C++ -*-===//
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

/// Directs crash reports to this project. In builds with assertions, `BPPSA_DEBUG=PASS` enables
/// debug output, because LLVM's release packages lack `-debug-only`.
inline void initTool() {
  llvm::setBugReportMsg("This is a bug in bppsa. Please report it to the project, with the "
                        "command, its input and the output below.\n");
#ifndef NDEBUG
  if (const char *pass = std::getenv("BPPSA_DEBUG")) {
    llvm::DebugFlag = true;
    llvm::setCurrentDebugType(pass);
  }
#endif
}

} // namespace bppsa

#endif // BPPSA_SUPPORT_INITTOOL_H
