//===- DeferredUpdate.cpp - Updates deferred until first use --------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "Updates/DeferredUpdate.h"
#include "bppsa/Runtime/Error.h"

#include <cmath>
#include <utility>

using namespace bppsa::runtime;

void bppsa::runtime::failDiverged(const std::string &where, const std::string &what) {
  throw DivergedError(text(where, ": ", what, "; use a smaller --lr or --clip-norm"));
}

void bppsa::runtime::refuseGradients(Session &session, const std::string &where) {
  try {
    requireFiniteGradients(session);
  } catch (const Error &error) {
    failDiverged(where, error.what());
  }
  failDiverged(where, "the norm of all gradients is not finite");
}

DeferredUpdate::DeferredUpdate(Session &session, const std::vector<size_t> &groups)
    : session(session) {
  const std::vector<ParameterInfo> &infos = session.program.model.parameters;
  for (size_t index = 0; index < infos.size(); ++index)
    if (infos[index].trained) {
      byValues[session.parameters.values(index)] = parameters.size();
      parameters.push_back({index, {session.parameters.start(index), infos[index].elements}});
    }
  session.splitUpdates(groups);
}

void DeferredUpdate::parameterNeeded(const void *values) noexcept {
  auto found = byValues.find(values);
  if (found != byValues.end() && parameters[found->second].isPending)
    guard([&] { complete(found->second); });
}

void DeferredUpdate::apply(size_t number) {
  collect(number);
  if (!std::isfinite(session.squaresOfOne(number)))
    refuse();
  session.updateOne(number);
  rule.average(parameters[number].range.start, parameters[number].range.size);
}

void DeferredUpdate::rethrow() {
  if (error)
    std::rethrow_exception(std::exchange(error, nullptr));
}
