//===- TensorTile.cpp - products of tiles on tensor cores -----------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "TensorTile.h"

using namespace mlir;
using namespace bppsa;

void TensorTile::begin(OpBuilder &builder, Value thread) {
  Value groups = getIndex(builder, loc, FragmentLayout::kGroups);
  Value inGroup = getIndex(builder, loc, FragmentLayout::kGroupThreads);
  SmallVector<Value> digits = splitIndex(builder, loc, thread, {Value(), groups, inGroup});
  layout = FragmentLayout(loc, precision, digits[1], digits[2]);
}

TensorTile::Fragment TensorTile::round(Read read, function_ref<void(Read)> readAll) const {
  Fragment fragment;
  SmallVector<Value> ofRegister;
  readAll([&](OpBuilder &nested, Value row, Value column) {
    Value element = read(nested, row, column);
    ofRegister.push_back(element);
    if (ofRegister.size() == tiles.getElementsOfRegister()) {
      tiles.addRounded(nested, fragment, ofRegister);
      ofRegister.clear();
    }
    return element;
  });
  return fragment;
}

TensorTile::Fragment TensorTile::readA(OpBuilder &builder, Read read) const {
  return round(read, [&](Read rounded) { layout.readA(builder, rounded); });
}

TensorTile::Fragment TensorTile::readB(OpBuilder &builder, Read read) const {
  return round(read, [&](Read rounded) { layout.readB(builder, rounded); });
}
