//===- Refusal.cpp - errors that users can act on -------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Support/Refusal.h"
#include "mlir/IR/BuiltinAttributes.h"

using namespace mlir;
using namespace bppsa;

static constexpr llvm::StringLiteral kRefusal = "bppsa.refusal";

/// Metadata is not printed.
static InFlightDiagnostic mark(InFlightDiagnostic diagnostic) {
  if (Diagnostic *underlying = diagnostic.getUnderlyingDiagnostic()) {
    MLIRContext *context = underlying->getLocation().getContext();
    underlying->getMetadata().push_back(DiagnosticArgument(StringAttr::get(context, kRefusal)));
  }
  return diagnostic;
}

InFlightDiagnostic bppsa::refuse(Operation *op) { return mark(op->emitError()); }

InFlightDiagnostic bppsa::refuse(Location loc) { return mark(emitError(loc)); }

InFlightDiagnostic bppsa::refuseOp(Operation *op, const Twine &message) {
  return mark(op->emitOpError(message));
}

bool bppsa::isRefusal(const Diagnostic &diagnostic) {
  auto &metadata = const_cast<Diagnostic &>(diagnostic).getMetadata();
  return llvm::any_of(metadata, [](const DiagnosticArgument &argument) {
    auto name = argument.getKind() == DiagnosticArgument::DiagnosticArgumentKind::Attribute
                    ? dyn_cast<StringAttr>(argument.getAsAttribute())
                    : StringAttr();
    return name && name.getValue() == kRefusal;
  });
}

std::string bppsa::describeNode(Location loc) {
  std::string node;
  loc->walk([&](Location inner) {
    auto name = dyn_cast<NameLoc>(inner);
    auto type = name ? dyn_cast<NameLoc>(name.getChildLoc()) : NameLoc();
    if (!type)
      return WalkResult::advance();
    node = "node '" + name.getName().str() + "' (" + type.getName().str() + "): ";
    return WalkResult::interrupt();
  });
  return node;
}

std::string bppsa::getUserMessage(const Diagnostic &diagnostic) {
  std::string message = diagnostic.str();
  if (!isRefusal(diagnostic))
    return message;
  StringRef text = message;
  if (text.consume_front("'"))
    text = text.split("' op ").second;
  std::string node = describeNode(diagnostic.getLocation());
  if (text.empty() || (node.empty() && text.size() != message.size()))
    return message;
  return text.starts_with("node '") ? text.str() : node + text.str();
}

BugCollector::BugCollector(MLIRContext *context)
    : handler(context, [this](Diagnostic &diagnostic) {
        if (diagnostic.getSeverity() != DiagnosticSeverity::Error)
          return failure();
        if (isRefusal(diagnostic)) {
          ++numRefusals;
          return failure();
        }
        std::lock_guard lock(mutex);
        if (!message) {
          message = diagnostic.str();
          node = describeNode(diagnostic.getLocation());
        }
        return success();
      }) {}

std::string BugCollector::getMessage() const {
  std::lock_guard lock(mutex);
  return message.value_or("");
}

std::string BugCollector::describe(StringRef reproducer) const {
  std::lock_guard lock(mutex);
  std::string line =
      node + "bppsa cannot compile the model, which is a bug in bppsa; please report it with ";
  return line +
         (reproducer.empty() ? std::string("the model") : "the model and " + reproducer.str());
}
