//===- SliceProtocol.cpp - Protocol of a slice owner ----------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Runtime/Distributed/SliceProtocol.h"

using namespace bppsa::runtime;
using Kind = SliceProtocol::Action::Kind;

SliceProtocol::SliceProtocol(size_t owned, int others, bool holdsSums)
    : others(others), holdsSums(holdsSums), slices(owned, {others}) {}

SliceProtocol::Actions SliceProtocol::begin() const {
  Actions actions;
  for (size_t slice = 0; slice < slices.size(); ++slice)
    actions.push_back({Kind::ReceivePushes, slice});
  return actions;
}

SliceProtocol::Actions SliceProtocol::pushArrived(size_t slice) {
  --slices[slice].missing;
  return advance(slice);
}

SliceProtocol::Actions SliceProtocol::ownGiven(size_t slice) {
  slices[slice].isGiven = true;
  return advance(slice);
}

SliceProtocol::Actions SliceProtocol::sumSent(size_t slice) {
  --slices[slice].leaving;
  return advance(slice);
}

std::vector<int> SliceProtocol::describe() const {
  std::vector<int> numbers;
  for (const Slice &slice : slices)
    numbers.insert(numbers.end(), {slice.missing, slice.isGiven, slice.leaving});
  numbers.insert(numbers.end(), held.begin(), held.end());
  return numbers;
}

SliceProtocol::Actions SliceProtocol::advance(size_t number) {
  Slice &slice = slices[number];
  if (slice.missing > 0 || !slice.isGiven || slice.leaving > 0)
    return {};
  slice = {others};
  Actions actions = {{Kind::AddUp, number}, {Kind::ReceivePushes, number}};
  release(number, actions);
  return actions;
}

void SliceProtocol::release(size_t number, Actions &actions) {
  slices[number].leaving = holdsSums ? 1 : others;
  held.push_back(number);
  if (holdsSums && held.size() < slices.size())
    return;
  for (size_t slice : held) {
    slices[slice].leaving = others;
    actions.push_back({Kind::SendSums, slice});
  }
  held.clear();
}
