//===- MicrobatchCalls.h - Steps with results of their own ----------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_RUNTIME_UPDATES_MICROBATCHCALLS_H
#define BPPSA_RUNTIME_UPDATES_MICROBATCHCALLS_H

#include "bppsa/Runtime/Session.h"

#include <map>

namespace bppsa::runtime {

/// What a microbatch has in memory.
struct MicrobatchData {
  Batch batch;
  int64_t seed = 0;
  /// The loss, or the sum of several.
  float loss = 0;
  /// In the layout of all gradients.
  Buffer gradients;
  /// Where somebody asks for them, each of several losses.
  std::vector<float> losses = {};
};

/// The calls of a compiled step on a microbatch, which leave its gradients and losses there and not
/// in the session.
class MicrobatchCalls {
public:
  MicrobatchCalls(Session &session, std::string function, MicrobatchData &data)
      : session(session), function(std::move(function)), data(data) {}

  /// That for the size of the batch.
  Call &get();

private:
  Session &session;
  const std::string function;
  MicrobatchData &data;
  /// By the size of the batch.
  std::map<int64_t, Call> calls;
};

} // namespace bppsa::runtime

#endif // BPPSA_RUNTIME_UPDATES_MICROBATCHCALLS_H
