//===- DeferredUpdate.h - Updates deferred until first use ----------------===//
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

using AfterUpdate = std::function<void(int64_t start, int64_t size)>;

struct UpdateRule {
  std::string where;
  AfterUpdate average;
  /// Sums of gradients are divided by this total sample weight of all ranks.
  double divisor = 1;
  std::optional<double> clipNorm = std::nullopt;
};

/// Updates each parameter at the latest when the next step first needs it, so that no step reads a
/// stale value.
class DeferredUpdate : public StepListener {
public:
  /// Throws DivergedError if a gradient is not finite.
  virtual void settle() = 0;

  void parameterNeeded(const void *values) noexcept override;

protected:
  /// `groups` holds the learning-rate group of each parameter.
  DeferredUpdate(Session &session, const std::vector<size_t> &groups);

  struct Parameter {
    size_t index;
    FlatRange range;
    /// `isReady`: the gradient is final or contributed. `isPending`: the update is pending.
    bool isReady = false, isPending = false;
  };

  virtual void complete(size_t number) = 0;
  virtual void collect(size_t number) = 0;
  [[noreturn]] virtual void refuse() = 0;
  void apply(size_t number);

  /// Compiled steps cannot be unwound; rethrow() throws the error later.
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
  std::vector<Parameter> parameters;
  UpdateRule rule;

private:
  std::map<const void *, size_t> byValues;
  std::exception_ptr error;
};

/// Names `what`, or the first non-finite gradient.
[[noreturn]] void failDiverged(const std::string &where, const std::string &what);
[[noreturn]] void refuseGradients(Session &session, const std::string &where);

} // namespace bppsa::runtime

#endif // BPPSA_LIB_RUNTIME_UPDATES_DEFERREDUPDATE_H
