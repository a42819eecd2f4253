//===- BatchAxes.h - where the arrays of a model carry samples --*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// For the compiler and for the run-time library: nothing here knows of MLIR.
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

/// One `--batch-axis=NAME:AXIS`.
struct BatchAxisRequest {
  std::string name;
  int64_t axis;

  /// Nothing where `text` is not of that form.
  static std::optional<BatchAxisRequest> parse(const std::string &text) {
    size_t colon = text.rfind(':');
    std::string number = colon == std::string::npos ? "" : text.substr(colon + 1);
    if (number.empty() || number.size() > 2 ||
        number.find_first_not_of("0123456789") != std::string::npos)
      return std::nullopt;
    return BatchAxisRequest{text.substr(0, colon), std::stoll(number)};
  }
};

/// The axis of an array that carries samples, or -1, in each layout. A layout says so for all
/// arrays of a model: the first is the one that data flow finds.
using BatchAxes = std::vector<int64_t>;

/// Narrows down the layouts of a model until one is chosen.
class BatchLayouts {
public:
  explicit BatchLayouts(size_t count) : accepted(count, true) {}

  /// Keeps the layouts in which the array of the given axes has its samples along `axis`. Where
  /// there is none, keeps all and says why; `quoted` is the name of the array in quotes.
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

  /// The first layout that is left.
  size_t choose() const {
    return std::find(accepted.begin(), accepted.end(), true) - accepted.begin();
  }

private:
  /// "0", "0 or 1"
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
