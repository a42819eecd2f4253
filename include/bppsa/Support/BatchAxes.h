//===- BatchAxes.h - batch axes of the arrays of a model --------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// Independent of MLIR, because the run-time library uses it too.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_SUPPORT_BATCHAXES_H
#define BPPSA_SUPPORT_BATCHAXES_H

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace bppsa {

/// `--batch-axis=NAME:AXIS`
struct BatchAxisRequest {
  std::string name;
  int64_t axis;

  static std::optional<BatchAxisRequest> parse(const std::string &text) {
    size_t colon = text.rfind(':');
    std::string number = colon == std::string::npos ? "" : text.substr(colon + 1);
    if (number.empty() || number.size() > 2 ||
        number.find_first_not_of("0123456789") != std::string::npos)
      return std::nullopt;
    return BatchAxisRequest{text.substr(0, colon), std::stoll(number)};
  }
};

/// An array's batch axis in each layout, or -1. A layout assigns batch axes to all arrays; the
/// first one results from data flow analysis.
using BatchAxes = std::vector<int64_t>;

class BatchLayouts {
public:
  explicit BatchLayouts(size_t count) : accepted(count, true) {}

  /// Keeps layouts in which an array with `axes` has its samples along `axis`. If none remains,
  /// keeps all and returns an error message.
  std::string require(const BatchAxes &axes, int64_t axis, const std::string &quoted) {
    std::vector<bool> left = accepted;
    std::vector<int64_t> others;
    for (size_t i = 0; i < left.size(); ++i) {
      if (accepted[i] && axes[i] >= 0)
        others.push_back(axes[i]);
      left[i] = left[i] && axes[i] == axis;
    }
    if (std::find(left.begin(), left.end(), true) != left.end()) {
      accepted = left;
      isNarrowed = true;
      return "";
    }
    return "--batch-axis: axis " + std::to_string(axis) + " of " + quoted +
           " cannot carry the samples" + (isNarrowed ? " with the axes given before it" : "") +
           "; accepted: " + (others.empty() ? "no axis of this array" : list(others));
  }

  size_t choose() const {
    return std::find(accepted.begin(), accepted.end(), true) - accepted.begin();
  }

private:
  static std::string list(std::vector<int64_t> axes) {
    std::sort(axes.begin(), axes.end());
    axes.erase(std::unique(axes.begin(), axes.end()), axes.end());
    std::string text;
    for (size_t i = 0; i < axes.size(); ++i)
      text += (i == 0 ? "" : i + 1 < axes.size() ? ", " : " or ") + std::to_string(axes[i]);
    return text;
  }

  std::vector<bool> accepted;
  bool isNarrowed = false;
};

} // namespace bppsa

#endif // BPPSA_SUPPORT_BATCHAXES_H
