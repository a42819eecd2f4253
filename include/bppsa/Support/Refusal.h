//===- Refusal.h - errors that users can act on ---------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// A pass rejects a model or an option with `refuse`; the message states the problem and the remedy.
// The compiler treats any other error of a pass, such as a verifier error, as a bug in the compiler
// and reports it as such.
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

/// Emit an error for users at `op` or `loc`. With `refuseOp`, the message names the operation if it
/// is printed with IR.
mlir::InFlightDiagnostic refuse(mlir::Operation *op);
mlir::InFlightDiagnostic refuse(mlir::Location loc);
mlir::InFlightDiagnostic refuseOp(mlir::Operation *op, const llvm::Twine &message = {});

bool isRefusal(const mlir::Diagnostic &diagnostic);

/// Returns "node 'name' (Type): " for the ONNX node named by `loc`; empty if it names none.
std::string describeNode(mlir::Location loc);

/// Returns the message of `diagnostic` for users: a refusal names the ONNX node instead of the
/// operation.
std::string getUserMessage(const mlir::Diagnostic &diagnostic);

/// Intercepts errors that are not refusals during its lifetime.
class BugCollector {
public:
  explicit BugCollector(mlir::MLIRContext *context);

  bool hasRefusals() const { return numRefusals != 0; }
  /// Returns the message of the first intercepted error, or an empty string.
  std::string getMessage() const;
  /// Returns a one-line bug report for the error. `reproducer` is a path and may be empty.
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
