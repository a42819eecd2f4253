//===- BackwardLaunches.cpp - launches of a backward pass -----------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// ParameterGradientAnalysis classifies operations by values. In memory, a value is the content of
// an array between two writes. A write also reads the previous content, because it may be partial.
//
//===----------------------------------------------------------------------===//

#include "BackwardLaunches.h"
#include "bppsa/Dialect/BGPU/IR/BGPU.h"
#include "bppsa/Dialect/BPPSA/Analysis/ParameterGradientAnalysis.h"
#include "bppsa/Dialect/BPPSA/IR/DiscardableAttributes.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace bppsa;

func::FuncOp LaunchAccesses::getKernel(Operation *op) const {
  auto call = dyn_cast<func::CallOp>(op);
  auto callee = call ? symbols.lookup<func::FuncOp>(call.getCallee()) : nullptr;
  return callee && callee.isPrivate() && !callee.isExternal() && callee.getNumResults() == 0
             ? callee
             : nullptr;
}

std::optional<SmallVector<MemoryAccess>> LaunchAccesses::get(Operation *op) {
  if (isa<memref::AllocOp, memref::DeallocOp, MarkPhaseOp, bgpu::SelectStreamOp,
          bgpu::RecordEventOp, bgpu::WaitEventOp>(op) ||
      op->hasTrait<OpTrait::IsTerminator>() || isMemoryEffectFree(op))
    return SmallVector<MemoryAccess>();
  if (func::FuncOp kernel = getKernel(op)) {
    auto known = writes.try_emplace(kernel);
    llvm::BitVector &written = known.first->second;
    if (known.second)
      written = getWrittenArguments(kernel);
    return getArrayAccesses(op->getOperands(), [&](unsigned i) { return written.test(i); });
  }
  return getArrayAccesses(getUsedValues(op).getArrayRef(), [](unsigned) { return true; });
}

MarkPhaseOp bppsa::findBackwardStart(func::FuncOp function) {
  if (function.isExternal() || function.isPrivate() || !llvm::hasSingleElement(function.getBody()))
    return {};
  for (auto mark : function.getOps<MarkPhaseOp>())
    if (mark.getPhase() == 1)
      return mark;
  return {};
}

namespace {
class ContentFlow {
public:
  ContentFlow(func::FuncOp function, LaunchAccesses &accesses)
      : function(function), launchAccesses(accesses) {}

  LogicalResult run(MarkPhaseOp start, Operation *&unknown);

  SmallVector<BackwardLaunch, 0> launches;

private:
  struct Content {
    unsigned value;
    Dependence dependence;
  };
  Content &get(Value array);
  Dependence getDependence(ArrayRef<MemoryAccess> accesses);
  void addForward(ArrayRef<MemoryAccess> accesses);
  void addBackward(BackwardLaunch &launch, bool isMovable);
  void addResults();
  void markParameters();

  func::FuncOp function;
  LaunchAccesses &launchAccesses;
  ParameterGradientAnalysis side;
  DenseMap<Value, Content> contents;
  /// For each launch, its index in `side`; or, if it depends only on constants, the values it
  /// defines.
  SmallVector<std::optional<unsigned>> numbers;
  SmallVector<SmallVector<unsigned>, 0> constants;
};
} // namespace

ContentFlow::Content &ContentFlow::get(Value array) {
  auto [found, isNew] = contents.try_emplace(array);
  if (isNew) {
    auto argument = dyn_cast<BlockArgument>(array);
    Dependence dependence =
        argument ? getArgumentDependence(function, argument.getArgNumber()) : Dependence::Constants;
    found->second = {side.addValue(dependence), dependence};
  }
  return found->second;
}

Dependence ContentFlow::getDependence(ArrayRef<MemoryAccess> accesses) {
  auto dependence = Dependence::Constants;
  for (const MemoryAccess &access : accesses)
    dependence = std::max(dependence, get(access.array).dependence);
  return dependence;
}

void ContentFlow::addForward(ArrayRef<MemoryAccess> accesses) {
  Dependence dependence = getDependence(accesses);
  for (const MemoryAccess &access : accesses)
    if (access.isWrite)
      contents[access.array] = {side.addValue(dependence), dependence};
}

void ContentFlow::addBackward(BackwardLaunch &launch, bool isMovable) {
  Dependence dependence = getDependence(launch.accesses);
  SmallVector<unsigned> read, made;
  for (const MemoryAccess &access : launch.accesses)
    read.push_back(get(access.array).value);
  for (const MemoryAccess &access : launch.accesses)
    if (access.isWrite) {
      Content content = {side.addValue(dependence), dependence};
      contents[access.array] = content;
      made.push_back(content.value);
    }
  bool isConstant = dependence == Dependence::Constants;
  numbers.push_back(isConstant ? std::nullopt : std::optional(side.addOp(read, made, isMovable)));
  constants.push_back(isConstant && isMovable ? made : SmallVector<unsigned>());
}

/// Final contents of arguments count as uses.
void ContentFlow::addResults() {
  for (BlockArgument argument : function.getArguments()) {
    auto found = contents.find(argument);
    if (found == contents.end())
      continue;
    StringAttr name = attrs::Gradient::ofArgument(function, argument.getArgNumber());
    bool isOfParameter =
        name && llvm::any_of(function.getArguments(), [&](BlockArgument other) {
          return attrs::Parameter::ofArgument(function, other.getArgNumber()) == name;
        });
    side.addUse(found->second.value, isOfParameter);
  }
}

void ContentFlow::markParameters() {
  side.run();
  for (auto [launch, number, made] : llvm::zip_equal(launches, numbers, constants)) {
    auto isForParameters = [&](unsigned value) {
      ArrayRef<unsigned> readers = side.getReaders(value);
      return !readers.empty() &&
             llvm::all_of(readers, [&](unsigned op) { return side.isParameter(op); });
    };
    launch.isParameter =
        number ? side.isParameter(*number) : !made.empty() && llvm::all_of(made, isForParameters);
  }
}

LogicalResult ContentFlow::run(MarkPhaseOp start, Operation *&unknown) {
  for (Operation &op : function.front()) {
    std::optional<SmallVector<MemoryAccess>> accesses = launchAccesses.get(&op);
    if (!accesses) {
      unknown = &op;
      return failure();
    }
    if (accesses->empty())
      continue;
    if (op.isBeforeInBlock(start)) {
      addForward(*accesses);
      continue;
    }
    BackwardLaunch &launch = launches.emplace_back();
    launch.op = &op;
    launch.accesses = std::move(*accesses);
    addBackward(launch, launchAccesses.getKernel(&op) != nullptr);
  }
  addResults();
  markParameters();
  return success();
}

FailureOr<SmallVector<BackwardLaunch, 0>>
bppsa::findBackwardLaunches(MarkPhaseOp start, LaunchAccesses &accesses, Operation *&unknown) {
  ContentFlow flow(start->getParentOfType<func::FuncOp>(), accesses);
  if (failed(flow.run(start, unknown)))
    return failure();
  return std::move(flow.launches);
}
