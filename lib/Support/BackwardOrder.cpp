//===- BackwardOrder.cpp - when parameter gradients are computed ----------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Support/BackwardOrder.h"
#include "llvm/ADT/StringExtras.h"
#include <algorithm>

using namespace bppsa;
using llvm::StringRef;

/// Parses the J of `L:J`.
static bool parseTarget(StringRef text, int64_t stage, int64_t &target) {
  if (text == "next") {
    target = BackwardOrder::kNextStep;
    return stage >= 1;
  }
  return !text.getAsInteger(10, target) && target >= 1 && target < stage;
}

/// Parses `L:J,L:J...`.
static bool parseDeferred(StringRef text, std::map<int64_t, int64_t> &deferred) {
  for (StringRef pair : llvm::split(text, ',')) {
    auto [from, to] = pair.split(':');
    int64_t stage, target;
    if (from.getAsInteger(10, stage) || !parseTarget(to, stage, target) ||
        !deferred.try_emplace(stage, target).second)
      return false;
  }
  return true;
}

std::optional<BackwardOrder> BackwardOrder::parse(StringRef text) {
  BackwardOrder order;
  if (text == "in-order")
    return order;
  int64_t count;
  if (text.consume_front("reverse-first:")) {
    if (text == "auto")
      order.reversed.reset();
    else if (text.getAsInteger(10, count) || count < 0)
      return std::nullopt;
    else
      order.reversed = count;
    return order;
  }
  if (text.consume_front("defer:") && parseDeferred(text, order.deferred))
    return order;
  return std::nullopt;
}

std::string BackwardOrder::toString() const {
  if (!reversed)
    return "reverse-first:auto";
  if (*reversed > 0)
    return "reverse-first:" + std::to_string(*reversed);
  std::string text;
  for (auto [stage, target] : deferred)
    text += (text.empty() ? "defer:" : ",") + std::to_string(stage) + ":" +
            (target == kNextStep ? "next" : std::to_string(target));
  return text.empty() ? "in-order" : text;
}

bool BackwardOrder::isCarried(int64_t stage) const {
  auto found = deferred.find(stage);
  return found != deferred.end() && (found->second == kNextStep || isCarried(found->second));
}

bool BackwardOrder::carriesAny() const {
  return std::any_of(deferred.begin(), deferred.end(),
                     [](const auto &entry) { return entry.second == kNextStep; });
}

int64_t BackwardOrder::getLastStage() const {
  return std::max(reversed.value_or(0), deferred.empty() ? 0 : deferred.rbegin()->first);
}
