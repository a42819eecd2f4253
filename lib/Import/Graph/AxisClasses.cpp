//===- AxisClasses.cpp - axes that data flow identifies -------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "AxisClasses.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace bppsa;

int AxisClasses::add(unsigned known) {
  parents.push_back(parents.size());
  facts.push_back(known);
  return parents.back();
}

int AxisClasses::find(int axis) const {
  while (axis >= 0 && parents[axis] != axis)
    axis = parents[axis];
  return axis;
}

void AxisClasses::unite(int a, int b) {
  a = find(a);
  b = find(b);
  if (a < 0 || b < 0 || a == b)
    return;
  auto [first, last] = std::minmax(a, b);
  parents[last] = first;
  facts[first] |= facts[last];
}

void AxisClasses::setRole(int axis, AxisRole role) {
  if (axis >= 0)
    roles.push_back({axis, role});
}

AxisRole AxisClasses::getRole(int axis) const {
  if (axis >= 0)
    for (auto [other, role] : roles)
      if (find(other) == find(axis))
        return role;
  return AxisRole::Unknown;
}

void AxisClasses::addLoopAxis(int axis) {
  if (loopAxis < 0)
    loopAxis = axis;
}

bool AxisClasses::carriesSteps(int axis) const {
  auto isTime = [](std::pair<int, AxisRole> entry) { return entry.second == AxisRole::Time; };
  if (llvm::any_of(roles, isTime))
    return getRole(axis) == AxisRole::Time;
  return axis >= 0 && loopAxis >= 0 && find(axis) == find(loopAxis);
}

void AxisClasses::mark(int axis, AxisFact fact) {
  if (axis >= 0)
    facts[find(axis)] |= fact;
}

unsigned AxisClasses::getFacts(int axis) const { return axis < 0 ? 0 : facts[find(axis)]; }

void AxisClasses::addTensor(ArrayRef<int> axes) {
  for (auto [i, a] : llvm::enumerate(axes))
    for (int b : axes.drop_front(i + 1))
      if (a >= 0 && b >= 0)
        pairs.insert({find(a), find(b)});
}

bool AxisClasses::meet(int a, int b) const {
  std::pair<int, int> wanted = std::minmax({find(a), find(b)});
  return llvm::any_of(pairs, [&](std::pair<int, int> pair) {
    std::pair<int, int> found = std::minmax({find(pair.first), find(pair.second)});
    return found == wanted;
  });
}
