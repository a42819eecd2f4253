//===- Refusal.h - errors of passes that users can do something about -----===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// A pass refuses a model or an option with `refuse`: the message says what was found and what to
// change. The compiler takes every other error of a pass, that of a verifier above all, for a bug
// of its own, and reports it as one.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_SUPPORT_REFUSAL_H
#define BPPSA_SUPPORT_REFUSAL_H

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Operation.h"
#include <atomic>
#include <mutex>
#include <optional>
#include <string>

namespace bppsa {

/// An error for users at `op`; `refuseOp` names the operation where IR is shown.
mlir::InFlightDiagnostic refuse(mlir::Operation *op);
mlir::InFlightDiagnostic refuse(mlir::Location loc);
mlir::InFlightDiagnostic refuseOp(mlir::Operation *op, const llvm::Twine &message = {});

bool isRefusal(const mlir::Diagnostic &diagnostic);

/// "node 'name' (Type): " for the ONNX node that `loc` names; empty where it names none.
std::string describeNode(mlir::Location loc);

/// The message of `diagnostic` for users: a refusal names the ONNX node in place of the operation.
std::string getUserMessage(const mlir::Diagnostic &diagnostic);

/// Keeps errors that are no refusals from users while it is there.
class BugCollector {
public:
  explicit BugCollector(mlir::MLIRContext *context);

  bool hasRefusals() const { return numRefusals != 0; }
  /// The message of the first error that is no refusal; empty where there was none.
  std::string getMessage() const;
  /// One line that reports the error as a bug, for `reproducer`, a path, if it is not empty.
  std::string describe(llvm::StringRef reproducer) const;

private:
  mutable std::mutex mutex;
  std::atomic<int> numRefusals = 0;
  std::optional<std::string> message;
  std::string node;
  mlir::ScopedDiagnosticHandler handler;
};

} // namespace bppsa

#endif // BPPSA_SUPPORT_REFUSAL_H
