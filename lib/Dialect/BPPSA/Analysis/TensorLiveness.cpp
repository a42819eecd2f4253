//===- TensorLiveness.cpp - peak memory of tensors ------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Dialect/BPPSA/Analysis/TensorLiveness.h"
#include "bppsa/Dialect/BPPSA/Analysis/SymbolicSizes.h"
#include "bppsa/Dialect/BPPSA/IR/DiscardableAttributes.h"
#include "mlir/Interfaces/DestinationStyleOpInterface.h"

using namespace mlir;
using namespace bppsa;

/// Symbols of a batch axis have the batch size, others the length.
static SmallVector<AffineExpr> assumeSymbols(FunctionOpInterface function, AssumedSizes sizes) {
  MLIRContext *context = function.getContext();
  auto module = function->getParentOfType<ModuleOp>();
  SymbolsAttr declared = module ? attrs::Symbols::of(module) : SymbolsAttr();
  SmallVector<AffineExpr> symbols(declared ? declared.getNames().size() : 0,
                                  getAffineConstantExpr(sizes.length, context));
  for (unsigned i = 0, e = function.getNumArguments(); i < e; ++i) {
    auto axis = attrs::BatchAxis::ofArgument(function, i);
    auto shape = attrs::Shape::ofArgument(function, i);
    if (!axis || !shape)
      continue;
    if (auto symbol = dyn_cast<AffineSymbolExpr>(shape.getValue().getResult(axis.getInt()));
        symbol && symbol.getPosition() < symbols.size())
      symbols[symbol.getPosition()] = getAffineConstantExpr(sizes.batch, context);
  }
  return symbols;
}

/// Returns null if `result` has separate memory.
static Value getSharedTensor(OpResult result) {
  Operation *op = result.getOwner();
  if (isa<tensor::CastOp, tensor::ExpandShapeOp, tensor::CollapseShapeOp, tensor::ExtractSliceOp,
          StopGradientOp>(op))
    return op->getOperand(0);
  auto destinations = dyn_cast<DestinationStyleOpInterface>(op);
  if (!destinations)
    return {};
  Value destination = destinations.getTiedOpOperand(result)->get();
  // A destination with other uses is copied.
  bool isOverwritten = destination.getDefiningOp() && destination.hasOneUse() &&
                       !isa<tensor::EmptyOp, arith::ConstantOp>(destination.getDefiningOp());
  return isOverwritten ? destination : Value();
}

TensorLiveness::TensorLiveness(FunctionOpInterface function, AssumedSizes sizes)
    : symbols(assumeSymbols(function, sizes)) {
  Block &block = function.getFunctionBody().front();
  SymbolicSizes symbolic;
  for (Operation &op : block)
    for (OpResult result : op.getResults()) {
      if (!isa<RankedTensorType>(result.getType()) || isa<tensor::EmptyOp, arith::ConstantOp>(op))
        continue;
      if (Value shared = getSharedTensor(result)) {
        if (auto found = storages.find(shared); found != storages.end())
          storages[result] = found->second;
        continue;
      }
      storages[result] = bytes.size();
      bytes.push_back(getBytes(result, sizes, symbolic));
    }
  for (Value returned : block.getTerminator()->getOperands())
    if (auto found = storages.find(returned); found != storages.end())
      bytes[found->second] = 0;
}

int64_t TensorLiveness::getBytes(Value tensor, AssumedSizes sizes, SymbolicSizes &symbolic) const {
  auto type = cast<RankedTensorType>(tensor.getType());
  int64_t bytes =
      llvm::divideCeil(type.getElementType().isIndex() ? IndexType::kInternalStorageBitWidth
                                                       : type.getElementTypeBitWidth(),
                       8);
  for (int64_t dim = 0; dim < type.getRank(); ++dim) {
    AffineExpr size = symbolic.getSize(tensor, dim).replaceSymbols(symbols);
    auto constant = dyn_cast<AffineConstantExpr>(size);
    bytes *= constant ? constant.getValue() : sizes.length;
  }
  return bytes;
}

int64_t TensorLiveness::getPeak(ArrayRef<Operation *> order) const {
  SmallVector<int64_t> profile = getProfile(order);
  return profile.empty() ? 0 : *llvm::max_element(profile);
}

int64_t TensorLiveness::getPeak(ArrayRef<Operation *> order, size_t carried, size_t forward) const {
  SmallVector<int64_t> profile = getProfile(order);
  int64_t peak = profile.empty() ? 0 : *llvm::max_element(profile);
  if (carried >= order.size() || forward == 0)
    return peak;
  int64_t next = *std::max_element(profile.begin(), profile.begin() + forward);
  return std::max(peak, profile[carried] + next);
}

SmallVector<int64_t> TensorLiveness::getProfile(ArrayRef<Operation *> order) const {
  constexpr size_t kNever = ~size_t(0);
  SmallVector<std::pair<size_t, size_t>> lives(bytes.size(), {kNever, 0});
  auto use = [&](Value value, size_t position) {
    auto found = storages.find(value);
    if (found == storages.end())
      return;
    auto &[first, last] = lives[found->second];
    first = std::min(first, position);
    last = std::max(last, position);
  };
  for (auto [position, op] : llvm::enumerate(order)) {
    for (Value result : op->getResults())
      use(result, position);
    op->walk([&, position = position](Operation *nested) {
      for (Value operand : nested->getOperands())
        use(operand, position);
    });
  }
  SmallVector<int64_t> changes(order.size() + 1, 0);
  for (auto [life, size] : llvm::zip_equal(lives, bytes))
    if (life.first != kNever) {
      changes[life.first] += size;
      changes[life.second + 1] -= size;
    }
  int64_t alive = 0;
  for (int64_t &change : changes)
    change = alive += change;
  changes.pop_back();
  return changes;
}
