//===- ColumnTilePlan.cpp - evaluation plan of a column tile --------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Dialect/BGPU/Analysis/ColumnTilePlan.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace bppsa;

std::optional<ColumnTilePlan> ColumnTilePlan::create(const CotangentLoop &loop, Block &body) {
  ColumnTilePlan plan;
  ValueRange states = body.getArguments().slice(loop.saved.size(), loop.getNumStates());
  if (!plan.computeStages(body, states) || body.getOps<MatVecOp>().empty())
    return std::nullopt;
  return plan;
}

static bool isVectorOf(Value value, bool isBoolean) {
  auto type = dyn_cast<VectorType>(value.getType());
  return type && type.getRank() == 1 &&
         (isBoolean ? type.getElementType().isInteger(1) : type.getElementType().isF32());
}

static bool isVector(Value value) { return isVectorOf(value, false) || isVectorOf(value, true); }

/// Values with one element per row give no matrix product, so a product needs a column tile.
static bool isSupported(Operation &op, bool isColumnTile) {
  if (op.getNumResults() != 1 || !isVector(op.getResult(0)))
    return false;
  if (auto product = dyn_cast<MatVecOp>(op))
    return isColumnTile && isa<BlockArgument>(product.getMatrix()) &&
           isVectorOf(product.getResult(), false);
  return llvm::all_of(op.getOperands(), isVector) && isa<CellOpInterface>(op);
}

bool ColumnTilePlan::addOp(Operation &op) {
  auto product = dyn_cast<MatVecOp>(op);
  bool hasColumnTile =
      llvm::any_of(op.getOperands(), [&](Value value) { return isColumnTile(value); });
  if (!isSupported(op, product ? isColumnTile(product.getVector()) : hasColumnTile))
    return false;
  if (!hasColumnTile)
    return true;
  int64_t stage = 0;
  auto cell = cast<CellOpInterface>(op);
  for (auto [number, operand] : llvm::enumerate(op.getOperands())) {
    if (!isColumnTile(operand))
      continue;
    bool isShared = cell.getRowAccess(number) != RowAccess::Same;
    if (isShared) {
      if (!isVectorOf(operand, false))
        return false;
      shared.insert(operand);
    }
    stage = std::max(stage, getStage(operand) + (isShared ? 1 : 0));
  }
  stages[op.getResult(0)] = stage;
  return true;
}

static bool isSupportedArgument(BlockArgument argument) {
  return cast<VectorType>(argument.getType()).getRank() == 2 || isVectorOf(argument, false);
}

bool ColumnTilePlan::computeStages(Block &body, ValueRange states) {
  for (Value state : states)
    stages[state] = 0;
  return llvm::all_of(body.getArguments(), isSupportedArgument) &&
         llvm::all_of(body.without_terminator(), [this](Operation &op) { return addOp(op); });
}

int64_t ColumnTilePlan::getNumStages() const {
  int64_t last = 0;
  for (auto [value, stage] : stages)
    last = std::max(last, stage);
  return last + 1;
}

int64_t ColumnTilePlan::getNumTiles(int64_t rows) {
  return llvm::divideCeil(rows, cost::kTileRows);
}

int64_t ColumnTilePlan::getNumSlots(int64_t rows) const {
  return llvm::divideCeil(getNumTiles(rows), numWarps);
}

int64_t bppsa::getNumFactorRegisters(TensorPrecision precision) {
  return precision == TensorPrecision::FP32 ? 8 : 4;
}

static int64_t countMatrixRegisters(Block &body, int64_t numWarps, TensorPrecision precision) {
  int64_t count = 0;
  for (auto product : body.getOps<MatVecOp>()) {
    int64_t tiles = ColumnTilePlan::getNumTiles(getNumRows(product.getResult()));
    count += llvm::divideCeil(tiles, numWarps) *
             llvm::divideCeil(getNumRows(product.getVector()), getTileDepth(precision)) *
             getNumFactorRegisters(precision);
  }
  return count;
}

GPUMappingAttr ColumnTilePlan::chooseMapping(const CotangentLoop &loop, Block &body,
                                             int64_t otherBytes, int64_t numStages,
                                             TensorPrecision precision) const {
  cost::ColumnTileNeeds needs{};
  for (auto [value, stage] : stages)
    needs.rows = std::max(needs.rows, getNumRows(value));
  needs.columns = loop.getTotalSize();
  needs.vectors = static_cast<int64_t>(loop.getNumStates() + shared.size());
  for (Value value : shared)
    needs.sharedRows += getNumTiles(getNumRows(value)) * cost::kTileRows;
  needs.otherBytes = otherBytes;
  std::optional<cost::ColumnTileShape> shape = cost::shapeColumnTile(needs);
  if (!shape)
    return {};
  bool fits = shape->fits(countMatrixRegisters(body, shape->warps, precision));
  return GPUMappingAttr::get(loop.op->getContext(), GPUKernel::ColumnTile,
                             shape->warps * cost::kWarpThreads, /*parts=*/1, /*rows=*/0,
                             shape->columnTiles, fits ? Residence::Registers : Residence::Memory,
                             numStages, precision, /*offset=*/{});
}

void ColumnTilePlan::setMapping(GPUMappingAttr mapping) {
  numWarps = mapping.getThreads() / cost::kWarpThreads;
  numColumnTiles = mapping.getColumns();
  inRegisters = mapping.keepsMatricesInRegisters();
}
