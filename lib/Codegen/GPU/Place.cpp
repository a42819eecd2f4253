//===- Place.cpp - vectors in memory --------------------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "Place.h"
#include "Launch.h"

using namespace mlir;
using namespace bppsa;

SmallVector<Value> Place::getIndices(OpBuilder &builder, Location loc, Value row) const {
  SmallVector<Value> indices(prefix.begin(), prefix.end());
  Value last = addIndex(builder, loc, row, first);
  indices.push_back(start ? addIndex(builder, loc, start, last) : last);
  return indices;
}

Value Place::load(OpBuilder &builder, Location loc, Value row) const {
  return memref::LoadOp::create(builder, loc, memref, getIndices(builder, loc, row));
}

void Place::store(OpBuilder &builder, Location loc, Value value, Value row) const {
  memref::StoreOp::create(builder, loc, value, memref, getIndices(builder, loc, row));
}
