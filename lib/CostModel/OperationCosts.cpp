//===- OperationCosts.cpp - costs of single products of a plan ------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "PlanEvaluator.h"

using namespace bppsa;

using GroupKind = LevelCost::Group::Kind;

int64_t PlanEvaluator::getNumBytes(int64_t value) const {
  const ValueCost &cost = values[value];
  if (cost.isRegion)
    return 0;
  int64_t bytes = cost.structure.getNumBytes(chain.elementBytes);
  bool isMap = cost.structure.getCols() > 1 && value != 0;
  if (isMap && chain.hasInjected)
    bytes += cost.structure.getRows() * chain.elementBytes;
  return bytes * (cost.structure.isShared() ? 1 : chain.batch) + cost.structure.getNumIndexBytes();
}

/// Level 0 forms links; the level after the schedule emits values.
void PlanEvaluator::findLastReads() {
  int64_t number = 0, end = schedule.getLevels().size() + 1;
  auto read = [&](int64_t value) { values[values[value].storage].lastRead = number; };
  for (const ScanLevel &scanLevel : schedule.getLevels()) {
    ++number;
    for (ScanOperation op : scanLevel.operations) {
      if (op.kind == ScanOperation::Kind::Apply && values[op.right].isRegion)
        isEmittedByProduct[op.right] = true;
      if (op.kind == ScanOperation::Kind::Copy)
        values[op.out].storage = values[op.left].storage;
      else
        read(op.right);
      read(op.left);
      read(op.out);
    }
  }
  number = end;
  // Parameter gradients follow stored links and read every cotangent. Region links emit where they
  // are applied.
  for (int64_t link = 1; link <= schedule.getNumLinks(); ++link)
    if (!isEmittedByProduct[link])
      read(schedule.getEntering(link));
  if (schedule.getInitial() >= 0)
    read(schedule.getInitial());
  readLast.resize(end + 1);
  for (auto [index, value] : llvm::enumerate(values))
    if (value.lastRead >= 0)
      readLast[value.lastRead].push_back(index);
}

/// Returns the cost of a product with a region link, which is computed in place.
PlanEvaluator::Cost PlanEvaluator::getRegionCost(ScanOperation op) const {
  const RegionCost &region = *chain.region;
  bool isCompose = op.kind == ScanOperation::Kind::Compose;
  int64_t rows = values[op.right].structure.getRows();
  int64_t columns = isCompose ? getNumColumns() : 1;
  int64_t flops = isCompose ? columns * region.stateFlops : region.fullFlops;
  int64_t bytes = chain.batch * (region.savedBytes + 2 * columns * rows * chain.elementBytes) +
                  region.captureBytes;
  if (chain.hasInjected)
    flops += rows;
  // A chunk begins with the transition of its first link, formed from unit vectors.
  if (isCompose && values[op.left].isRegion) {
    flops *= 2;
    bytes *= 2;
  }
  if (!isCompose)
    bytes += chain.batch * region.emittedBytes;
  return {isCompose ? GroupKind::Compose : GroupKind::Apply,
          op.left,
          op.right,
          op.out,
          flops,
          /*shared=*/false,
          bytes};
}

PlanEvaluator::Cost PlanEvaluator::getCost(ScanOperation op) {
  const MatrixStructure &left = values[op.left].structure, &right = values[op.right].structure;
  bool isCompose = op.kind == ScanOperation::Kind::Compose;
  MatrixStructure &out = values[op.out].structure;
  if (isCompose || chain.sparseCotangents)
    out = multiply(right, left);
  else
    out = getCotangent(right.getRows());
  if (!isCompose || chain.hasInjected)
    out = out.withShared(false);
  if (values[op.right].isRegion)
    return getRegionCost(op);
  int64_t flops = countFlops(right, left);
  if (chain.hasInjected)
    flops += right.getRows() + (isCompose ? countFlops(right, getCotangent(right.getCols())) : 0);
  int64_t bytes = getNumBytes(op.left) + getNumBytes(op.right) + getNumBytes(op.out);
  return {isCompose ? GroupKind::Compose : GroupKind::Apply,
          op.left,
          op.right,
          op.out,
          flops,
          isCompose && out.isShared(),
          bytes};
}
