//===- ClassMetrics.h - How well classes are told apart --------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_RUNTIME_CLASSMETRICS_H
#define BPPSA_LIB_RUNTIME_CLASSMETRICS_H

#include "bppsa/Runtime/Session.h"

#include <nlohmann/json.hpp>

namespace bppsa::runtime {

/// Confusion matrix, F1 and area under the ROC curve over the batches of a data set. Positions
/// count as much as their weights.
class ClassMetrics {
public:
  /// Whether a loss tells classes apart.
  static bool accepts(const LossInfo &loss);
  /// For loss `number`, which must be accepted. Session and data outlive this.
  ClassMetrics(Session &session, const Dataset &data, size_t number);

  /// Computes the outputs of a batch and adds its positions. Throws Error where the target of a
  /// binary loss is neither 0 nor 1.
  void add(Batch &batch);
  /// `confusion`: rows of true classes; `f1` or `auc`: {"macro", "per_class"}, null where a class
  /// has none.
  nlohmann::ordered_json toJson(const std::string &name) const;

private:
  /// A position of the loss, as one class sees it.
  struct Score {
    double value, weight;
    bool isPositive;
  };

  void infer(Batch &batch);
  void addPosition(int64_t truth, double weight, const double *scores);
  std::optional<double> f1(size_t index) const;
  std::optional<double> auc(size_t index) const;

  Session &session;
  const Dataset &data;
  const ArrayInfo *output = nullptr;
  /// Of the loss.
  size_t number;
  bool isBinary, isLogits;
  size_t classes = 2;
  /// The outputs of a batch of `samples` samples, by their number in the model.
  std::vector<Array> outputs;
  int64_t samples = 0;
  Call call;
  /// Sums of weights, by true and predicted class.
  std::vector<std::vector<double>> confusion;
  /// By class.
  std::vector<std::vector<Score>> scores;
};

} // namespace bppsa::runtime

#endif // BPPSA_LIB_RUNTIME_CLASSMETRICS_H
