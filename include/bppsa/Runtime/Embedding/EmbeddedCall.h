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

/// The arrays of a call by batch slot: the inputs, then the target and the position weights of each
/// loss. Null for arrays the caller omits.
using BatchArguments = std::vector<const ArrayArgument *>;

enum class LossArrays { Needed, Ignored };

/// Assigns `arguments` to slots. Throws UsageError for unknown or duplicate names and Error for
/// missing arrays.
BatchArguments matchArguments(const Model &model, const ArrayArguments &arguments, LossArrays use);

/// A function of a program, prepared for batches of certain sizes. Arrays of the caller are used in
/// place if compiled functions can use them; others are copied.
class EmbeddedCall {
public:
  /// "infer", "step.scan", ...
  using ChooseFunction = std::function<std::string(Batch &)>;

  EmbeddedCall(Session &session, const BatchArguments &arguments, LossArrays use,
               const ChooseFunction &choose);

  /// Returns true if the call can be reused for arrays of these sizes.
  bool isFor(const BatchArguments &arguments) const;
  /// Sets the values of the arrays. Throws Error for values that the model does not accept.
  void fill(const BatchArguments &arguments);
  /// Runs the function. Results that are not redirected are available in result().
  void run();

  const std::string &function() const { return name; }
  const Batch &arrays() const { return batch; }
  /// Keyed by argument name, such as `output:y` or `input_grad:x`.
  const Array &result(const std::string &argument) const { return results.at(argument).array; }
  /// The `residuals` argument, which GPU programs write to and read from here.
  Array &residuals() { return results.at("residuals").array; }
  Array takeResult(const std::string &argument);
  /// Makes the next run write the result to `data`. Returns false in GPU programs.
  bool redirect(const std::string &argument, void *data);
  /// Makes the next run access an argument owned by the program, such as `param:w`, at `data`.
  /// Returns false in GPU programs.
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
  /// Memory of omitted or copied arrays, by slot.
  std::vector<Buffer> owned;
  /// The shapes of the arrays provided by the caller, by slot.
  std::vector<std::optional<std::vector<int64_t>>> given;
  struct Result {
    Array array;
    bool isRedirected = false;
  };
  std::map<std::string, Result> results;
  std::map<std::string, size_t> numbers;
  /// Original addresses of lent arguments.
  std::vector<std::pair<size_t, void *>> lent;
  Call call;
};

} // namespace bppsa::runtime

#endif // BPPSA_RUNTIME_EMBEDDING_EMBEDDEDCALL_H
