//===- ClassMetrics.h - Classification metrics ----------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_RUNTIME_CLASSMETRICS_H
#define BPPSA_LIB_RUNTIME_CLASSMETRICS_H

#include "bppsa/Runtime/Session.h"

#include <nlohmann/json.hpp>

namespace bppsa::runtime {

/// Confusion matrix, F1 score and ROC AUC over weighted positions.
class ClassMetrics {
public:
  static bool accepts(const LossInfo &loss);
  /// The session and the data must outlive this object.
  ClassMetrics(Session &session, const Dataset &data, size_t number);

  /// Throws Error if a target of a binary loss is neither 0 nor 1.
  void add(Batch &batch);
  /// `confusion`: one row per true class. `f1` or `auc`: {"macro", "per_class"}, with null for
  /// undefined values.
  nlohmann::ordered_json toJson(const std::string &name) const;

private:
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
  size_t number;
  bool isBinary, isLogits;
  size_t classes = 2;
  std::vector<Array> outputs;
  int64_t samples = 0;
  Call call;
  std::vector<std::vector<double>> confusion;
  std::vector<std::vector<Score>> scores;
};

} // namespace bppsa::runtime

#endif // BPPSA_LIB_RUNTIME_CLASSMETRICS_H
