//===- DeferredUpdate.h - Updates that wait for their gradients -----------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_RUNTIME_UPDATES_DEFERREDUPDATE_H
#define BPPSA_LIB_RUNTIME_UPDATES_DEFERREDUPDATE_H

#include "Distributed/StepPorts.h"
#include "bppsa/Runtime/Distributed/GradientExchange.h"
#include "bppsa/Runtime/Session.h"

#include <exception>
#include <functional>
#include <map>
#include <optional>

namespace bppsa::runtime {

/// Called after the update of a range of the flat arrays.
using AfterUpdate = std::function<void(int64_t start, int64_t size)>;

/// How gradients update parameters.
struct UpdateRule {
  /// The step, for errors.
  std::string where;
  AfterUpdate average;
  /// The weight of the samples of all ranks: gradients are sums divided by it.
  double divisor = 1;
  std::optional<double> clipNorm = std::nullopt;
};

/// Updates parameter by parameter, at the latest when the next step first needs the parameter. So
/// no step reads a stale value, and the gradient may still be under way when that step begins.
class DeferredUpdate : public StepListener {
public:
  /// Completes the last update. Throws DivergedError if a gradient is not finite.
  virtual void settle() = 0;

  void parameterNeeded(const void *values) noexcept override;

protected:
  /// `groups` holds the number of the learning rate of each parameter of the model.
  DeferredUpdate(Session &session, const std::vector<size_t> &groups);

  struct Parameter {
    /// In the model, and in the flat arrays.
    size_t index;
    FlatRange range;
    /// Whether the gradient is final or handed over, and whether the update is missing.
    bool isReady = false, isPending = false;
  };

  /// Completes the update of a pending parameter, and maybe of others.
  virtual void complete(size_t number) = 0;
  /// Waits for the gradient, puts it into the session and clears the mark.
  virtual void collect(size_t number) = 0;
  /// Throws DivergedError that names a gradient.
  [[noreturn]] virtual void refuse() = 0;
  /// Collects one gradient and updates its parameter.
  void apply(size_t number);

  /// Calls `action` within a step, which cannot be unwound; rethrow() throws its error later.
  template <typename Action> void guard(Action &&action) noexcept {
    if (error)
      return;
    try {
      action();
    } catch (...) {
      error = std::current_exception();
    }
  }
  void rethrow();

  Session &session;
  /// The trained ones.
  std::vector<Parameter> parameters;
  UpdateRule rule;

private:
  /// Numbers of parameters by the addresses of their values.
  std::map<const void *, size_t> byValues;
  std::exception_ptr error;
};

/// Throws DivergedError: the step `where` has found `what`, or a gradient that is not finite.
[[noreturn]] void failDiverged(const std::string &where, const std::string &what);
[[noreturn]] void refuseGradients(Session &session, const std::string &where);

} // namespace bppsa::runtime

#endif // BPPSA_LIB_RUNTIME_UPDATES_DEFERREDUPDATE_H
