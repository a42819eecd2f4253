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

/// Called after updating a range of the flat arrays.
using AfterUpdate = std::function<void(int64_t start, int64_t size)>;

struct UpdateRule {
  /// The name of the step in errors.
  std::string where;
  AfterUpdate average;
  /// The weight of the samples of all ranks. Gradients are sums that are divided by it.
  double divisor = 1;
  std::optional<double> clipNorm = std::nullopt;
};

/// Updates each parameter separately, at the latest when the next step first needs it. Therefore no
/// step reads a stale value, although gradients may still be in flight when the step starts.
class DeferredUpdate : public StepListener {
public:
  /// Completes the last update. Throws DivergedError if a gradient is not finite.
  virtual void settle() = 0;

  void parameterNeeded(const void *values) noexcept override;

protected:
  /// `groups` holds the learning-rate group of each model parameter.
  DeferredUpdate(Session &session, const std::vector<size_t> &groups);

  struct Parameter {
    /// The index in the model, and the range in the flat arrays.
    size_t index;
    FlatRange range;
    /// The gradient is final or has been contributed; the update is pending.
    bool isReady = false, isPending = false;
  };

  /// Completes the update of a pending parameter and possibly of others.
  virtual void complete(size_t number) = 0;
  /// Waits for the gradient, stores it in the session and clears isPending.
  virtual void collect(size_t number) = 0;
  [[noreturn]] virtual void refuse() = 0;
  void apply(size_t number);

  /// Runs `action` within a compiled step, which cannot be unwound. rethrow() throws its error
  /// later.
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
  /// Indices into `parameters`, by the address of the values.
  std::map<const void *, size_t> byValues;
  std::exception_ptr error;
};

/// Throw DivergedError for step `where`, because of `what` or of the first non-finite gradient.
[[noreturn]] void failDiverged(const std::string &where, const std::string &what);
[[noreturn]] void refuseGradients(Session &session, const std::string &where);

} // namespace bppsa::runtime

#endif // BPPSA_LIB_RUNTIME_UPDATES_DEFERREDUPDATE_H
