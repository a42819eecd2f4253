//===- BlockCyclicLayout.cpp - distribute vectors over threads ------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "BlockCyclicLayout.h"

using namespace mlir;
using namespace bppsa;

BlockCyclicLayout::Places BlockCyclicLayout::getPlaces(int64_t slot) const {
  int64_t first = 0, width = kElementsPerAccess;
  while (first + width <= slot || first + width > getNumSlots())
    if (first + width > getNumSlots())
      width /= 2;
    else
      first += width;
  return {width, first * parts + slot - first};
}

Value BlockCyclicLayout::getPlace(OpBuilder &builder, Location loc, Value part,
                                  int64_t slot) const {
  Places places = getPlaces(slot);
  Value own = mulIndex(builder, loc, part, getIndex(builder, loc, places.width));
  return addIndex(builder, loc, own, places.first);
}

BlockCyclicLayout::Element BlockCyclicLayout::getElement(OpBuilder &builder, Location loc,
                                                         Value part, int64_t slot) const {
  Places places = getPlaces(slot);
  Value place = getPlace(builder, loc, part, slot);
  if ((parts - 1) * places.width + places.first < count)
    return {place, Value()};
  Value exists = isBelow(builder, loc, place, getIndex(builder, loc, count));
  return {minIndex(builder, loc, place, getIndex(builder, loc, count - 1)), exists};
}
