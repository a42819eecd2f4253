//===- EmbeddedCall.h - A compiled function on caller arrays ----*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_RUNTIME_EMBEDDING_EMBEDDEDCALL_H
#define BPPSA_RUNTIME_EMBEDDING_EMBEDDEDCALL_H

#include "bppsa/Runtime/Embedding/ArrayArgument.h"
#include "bppsa/Runtime/Session.h"

#include <functional>

namespace bppsa::runtime {

/// The inputs, then the target and weights of each loss. Null if omitted.
using BatchArguments = std::vector<const ArrayArgument *>;

enum class LossArrays { Needed, Ignored };

/// Throws UsageError for unknown or duplicate names and Error for missing arrays.
BatchArguments matchArguments(const Model &model, const ArrayArguments &arguments, LossArrays use);

/// A function prepared for batches of certain sizes. Uses the caller's arrays in place if possible.
class EmbeddedCall {
public:
  using ChooseFunction = std::function<std::string(Batch &)>;

  EmbeddedCall(Session &session, const BatchArguments &arguments, LossArrays use,
               const ChooseFunction &choose);

  /// Returns true if the call can be reused for these arrays.
  bool isFor(const BatchArguments &arguments) const;
  void fill(const BatchArguments &arguments);
  void run();

  const std::string &function() const { return name; }
  const Batch &arrays() const { return batch; }
  /// Keyed by argument, such as `output:y`.
  const Array &result(const std::string &argument) const { return results.at(argument).array; }
  Array &residuals() { return results.at("residuals").array; }
  Array takeResult(const std::string &argument);
  /// The next run writes the result to `data`. Returns false in GPU programs.
  bool redirect(const std::string &argument, void *data);
  /// The next run accesses `argument` at `data`. Returns false in GPU programs.
  bool lend(const std::string &argument, void *data);

private:
  void bindSizes(const BatchArguments &arguments);
  void addArrays(const BatchArguments &arguments);
  ViewTable addResults(const FunctionTable &functions);
  std::byte *ownMemory(size_t slot);
  void use(size_t slot, std::byte *data);
  void take(size_t slot, const ArrayArgument &argument);
  void maskLoss(size_t number);
  void bind(const std::string &argument, void *data);

  const Model &model;
  std::string name;
  Batch batch;
  std::vector<Buffer> owned;
  std::vector<std::optional<std::vector<int64_t>>> given;
  struct Result {
    Array array;
    bool isRedirected = false;
  };
  std::map<std::string, Result> results;
  std::map<std::string, size_t> numbers;
  std::vector<std::pair<size_t, void *>> lent;
  Call call;
};

} // namespace bppsa::runtime

#endif // BPPSA_RUNTIME_EMBEDDING_EMBEDDEDCALL_H
