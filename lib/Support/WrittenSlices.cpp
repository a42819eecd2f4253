//===- WrittenSlices.cpp - disjointness of inserted slices ----------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Support/WrittenSlices.h"

using namespace mlir;
using namespace bppsa;

/// Returns the interval if it is static, with unit stride.
static std::optional<std::pair<int64_t, int64_t>> getPlace(tensor::InsertSliceOp slice,
                                                           unsigned axis) {
  int64_t offset = slice.getStaticOffsets()[axis], size = slice.getStaticSizes()[axis];
  if (ShapedType::isDynamic(offset) || ShapedType::isDynamic(size) ||
      slice.getStaticStrides()[axis] != 1)
    return std::nullopt;
  return std::pair(offset, offset + size);
}

/// Returns true if the slices are disjoint along some axis with static intervals.
static bool areDisjoint(tensor::InsertSliceOp a, tensor::InsertSliceOp b) {
  for (unsigned i = 0, e = a.getStaticOffsets().size(); i < e; ++i) {
    auto left = getPlace(a, i), right = getPlace(b, i);
    if (left && right && (left->second <= right->first || right->second <= left->first))
      return true;
  }
  return false;
}

template <typename Visit>
void WrittenSlices::visitOverlapping(const Groups &groups, int64_t begin, int64_t end,
                                     Visit visit) {
  auto it = groups->lower_bound(begin);
  if (it != groups->begin() && std::prev(it)->second.end > begin)
    --it;
  for (; it != groups->end() && it->first < end; ++it)
    visit(it->second);
}

void WrittenSlices::addToGroups(Groups &groups, tensor::InsertSliceOp slice, unsigned axis) {
  if (!groups)
    return;
  std::optional<std::pair<int64_t, int64_t>> place = getPlace(slice, axis);
  if (!place)
    return groups.reset();
  auto [begin, end] = *place;
  bool isFree = true;
  if (auto it = groups->find(begin); it == groups->end() || it->second.end != end)
    visitOverlapping(groups, begin, end, [&](const Group &) { isFree = false; });
  if (!isFree)
    return groups.reset();
  auto [it, isNew] = groups->try_emplace(begin, Group{end, {}});
  it->second.slices.push_back(slice);
}

void WrittenSlices::add(tensor::InsertSliceOp slice) {
  if (slices.empty())
    axes.resize(slice.getStaticOffsets().size(), std::map<int64_t, Group>());
  slices.push_back(slice);
  for (auto [axis, groups] : llvm::enumerate(axes))
    addToGroups(groups, slice, axis);
}

bool WrittenSlices::areDisjointWith(tensor::InsertSliceOp slice) const {
  // Compare slices that overlap along the most selective axis.
  size_t fewest = slices.size(), chosen = axes.size();
  for (auto [axis, groups] : llvm::enumerate(axes)) {
    std::optional<std::pair<int64_t, int64_t>> place = getPlace(slice, axis);
    if (!groups || !place)
      continue;
    size_t count = 0;
    visitOverlapping(groups, place->first, place->second,
                     [&](const Group &group) { count += group.slices.size(); });
    if (count < fewest) {
      fewest = count;
      chosen = axis;
    }
  }
  auto isDisjoint = [&](tensor::InsertSliceOp other) { return areDisjoint(slice, other); };
  if (chosen == axes.size())
    return llvm::all_of(slices, isDisjoint);
  bool areAll = true;
  auto [begin, end] = *getPlace(slice, chosen);
  visitOverlapping(axes[chosen], begin, end,
                   [&](const Group &group) { areAll &= llvm::all_of(group.slices, isDisjoint); });
  return areAll;
}
