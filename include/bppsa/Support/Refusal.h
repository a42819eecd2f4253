//===- Refusal.h - errors that users can act on ---------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// A pass rejects a model or an option with `refuse`, stating problem and remedy. The compiler
// reports any other error of a pass as a bug.
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

/// With `refuseOp`, the message names the operation when printed with IR.
mlir::InFlightDiagnostic refuse(mlir::Operation *op);
mlir::InFlightDiagnostic refuse(mlir::Location loc);
mlir::InFlightDiagnostic refuseOp(mlir::Operation *op, const llvm::Twine &message = {});

bool isRefusal(const mlir::Diagnostic &diagnostic);

/// Returns "node 'name' (Type): " or an empty string.
std::string describeNode(mlir::Location loc);

/// A refusal names the ONNX node instead of the operation.
std::string getUserMessage(const mlir::Diagnostic &diagnostic);

/// Intercepts errors that are not refusals.
class BugCollector {
public:
  explicit BugCollector(mlir::MLIRContext *context);

  bool hasRefusals() const { return numRefusals != 0; }
  /// Returns the first intercepted error, or an empty string.
  std::string getMessage() const;
  /// Returns a one-line bug report. `reproducer` may be empty.
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
