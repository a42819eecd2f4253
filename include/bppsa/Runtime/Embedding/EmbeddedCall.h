//===- EmbeddedCall.h - a compiled function on arrays of a caller -*- C++ -*-===//
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

/// The arrays of a call by the places that they have in a batch: the inputs, then for each loss its
/// target and the weights of its positions. Null where the caller gives none.
using BatchArguments = std::vector<const ArrayArgument *>;

/// What a call reads beside the inputs.
enum class LossArrays { Needed, Ignored };

/// Finds the places of `arguments`. Throws UsageError where a name is unknown or there twice, and
/// Error where an array is missing that the call needs.
BatchArguments matchArguments(const Model &model, const ArrayArguments &arguments, LossArrays use);

/// A function of a program prepared for batches of certain sizes. Arrays of a caller that compiled
/// functions can use are where they are; others are copied to memory of the call.
class EmbeddedCall {
public:
  /// Which function to call for a batch: "infer", "step.scan", ...
  using ChooseFunction = std::function<std::string(Batch &)>;

  /// Throws Error where the arrays do not fit the model or each other.
  EmbeddedCall(Session &session, const BatchArguments &arguments, LossArrays use,
               const ChooseFunction &choose);

  /// Whether the call can be used for arrays of these sizes.
  bool isFor(const BatchArguments &arguments) const;
  /// Takes over the values. Throws Error where one is none that the model takes.
  void fill(const BatchArguments &arguments);
  /// Computes. What is not redirected is in `result()` then.
  void run();

  const std::string &function() const { return name; }
  const Batch &arrays() const { return batch; }
  /// What the call writes under this name, such as `output:y` and `input_grad:x`.
  const Array &result(const std::string &argument) const { return results.at(argument).array; }
  /// Where a program for GPUs has `residuals`; these it reads there, too.
  Array &residuals() { return results.at("residuals").array; }
  /// Takes the memory of a result away.
  Array takeResult(const std::string &argument);
  /// Lets the next run write it to `data` instead. Returns whether it will: not in programs for
  /// GPUs.
  bool redirect(const std::string &argument, void *data);
  /// Lets the next run read or write an argument that is the program's, such as `param:w`, at
  /// `data` instead. Returns whether it will: not in programs for GPUs.
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
  /// Of the arrays that are no caller's, by slot.
  std::vector<Buffer> owned;
  /// The shape of the array in a slot that a caller gives.
  std::vector<std::optional<std::vector<int64_t>>> given;
  struct Result {
    Array array;
    /// Whether the next run writes it elsewhere.
    bool isRedirected = false;
  };
  std::map<std::string, Result> results;
  /// Which argument of the function is what.
  std::map<std::string, size_t> numbers;
  /// Where arguments that are lent for the next run are otherwise.
  std::vector<std::pair<size_t, void *>> lent;
  Call call;
};

} // namespace bppsa::runtime

#endif // BPPSA_RUNTIME_EMBEDDING_EMBEDDEDCALL_H
