//===- OutlineKernels.cpp - outline kernels into functions ----------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// The functions of a program share most of their loops, so each loop nest is outlined and equal
// kernels are compiled once. The remaining code is the same for every instruction set.
//
//===----------------------------------------------------------------------===//

#include "KernelGroups.h"
#include "bppsa/Codegen/CPU/Kernels/Passes.h"
#include "bppsa/Dialect/BPPSA/Analysis/Dependences.h"
#include "bppsa/Dialect/BPPSA/IR/BPPSA.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/LoopLikeInterface.h"

namespace bppsa {
#define GEN_PASS_DEF_OUTLINEKERNELS
#include "bppsa/Codegen/CPU/Kernels/Passes.h.inc"
} // namespace bppsa

using namespace mlir;
using namespace bppsa;

static bool isBufferized(Operation &op) {
  return isBufferizedKernel(&op) ||
         (op.getNumResults() == 0 && isa<linalg::LinalgOp, memref::CopyOp>(op));
}

static bool isLoop(Operation &op) {
  return op.getNumResults() == 0 && isa<LoopLikeOpInterface>(op);
}

/// Returns true if `op` is a loop around operations that are kernels themselves, or a choice
/// between such operations.
static bool containsKernelOps(Operation &op) {
  bool isChoice = isa<scf::IfOp>(op) && op.getNumResults() == 0;
  if (!isa<LoopLikeOpInterface>(op) && !isChoice)
    return false;
  auto isKernel = [&](Operation *nested) {
    return isBufferizedKernel(nested) || (isBufferized(*nested) && isa<scf::ForOp, scf::IfOp>(op) &&
                                          isa<linalg::GenericOp>(nested));
  };
  return op
      .walk([&](Operation *nested) {
        return nested != &op && isKernel(nested) ? WalkResult::interrupt() : WalkResult::advance();
      })
      .wasInterrupted();
}

static bool isSweepLevel(Operation &op) {
  // A loop that carries arrays is not a kernel until bppsa-bufferize is cleaned up.
  if (op.getNumResults() != 0)
    return false;
  auto isTransition = [](Operation &nested) {
    return isa<TransitionOp, ComposeTransitionsOp, ApplyTransitionOp>(nested);
  };
  if (auto loop = dyn_cast<scf::ForOp>(op))
    return llvm::any_of(*loop.getBody(), isTransition);
  auto visit = [&](Operation *nested) {
    return isTransition(*nested) || isa<ChainOp>(nested) ? WalkResult::interrupt()
                                                         : WalkResult::advance();
  };
  return isa<scf::ForallOp>(op) && op.walk(visit).wasInterrupted();
}

/// Returns `type` with any offset and, with `anyRows`, any number and stride of rows; null if its
/// layout is not strided.
static MemRefType getWindowType(MemRefType type, bool anyRows) {
  int64_t offset;
  SmallVector<int64_t> strides, shape(type.getShape());
  if (failed(type.getStridesAndOffset(strides, offset)))
    return {};
  if (anyRows)
    shape.front() = strides.front() = ShapedType::kDynamic;
  auto layout = StridedLayoutAttr::get(type.getContext(), ShapedType::kDynamic, strides);
  return MemRefType::get(shape, type.getElementType(), layout, type.getMemorySpace());
}

/// Casts `value` to the argument type of the kernel of `op`.
static Value castToWindow(OpBuilder &builder, Operation *op, Value value) {
  auto type = dyn_cast<MemRefType>(value.getType());
  if (!type)
    return value;
  auto chain = dyn_cast<ChainOp>(op);
  bool anyRows = chain && chain.getLanes() && type.getRank() > 2;
  if (!anyRows && !isa<StridedLayoutAttr>(type.getLayout()))
    return value;
  MemRefType window = getWindowType(type, anyRows);
  if (!window || window == type)
    return value;
  return memref::CastOp::create(builder, op->getLoc(), window, value);
}

static void collectInputs(ArrayRef<Operation *> ops, SetVector<Value> &constants,
                          SetVector<Value> &others) {
  for (Operation *op : ops)
    for (Value value : getUsedValues(op))
      (matchPattern(value, m_Constant()) ? constants : others).insert(value);
}

/// Creates a private function that is never inlined, because that would undo this pass.
static func::FuncOp createKernel(OpBuilder &builder, ModuleOp module, Location loc,
                                 const Twine &name, FunctionType type) {
  builder.setInsertionPointToEnd(module.getBody());
  auto kernel = func::FuncOp::create(builder, loc, name.str(), type);
  kernel.setPrivate();
  kernel->setAttr("passthrough", builder.getStrArrayAttr({"noinline"}));
  return kernel;
}

/// Returns the operation after which a kernel of `op` is named: in a scope, its first kernel.
static Operation *getKernelNameSource(Operation *op) {
  if (auto scope = dyn_cast<memref::AllocaScopeOp>(op))
    for (Operation &nested : scope.getBodyRegion().front())
      if (isBufferizedKernel(&nested))
        return &nested;
  return op;
}

static void outline(ArrayRef<Operation *> ops, ModuleOp module, unsigned number, bool anyWindow) {
  SetVector<Value> constants, others;
  collectInputs(ops, constants, others);
  OpBuilder builder(ops.back());
  Location loc =
      builder.getFusedLoc(llvm::map_to_vector(ops, [](Operation *op) { return op->getLoc(); }));
  std::string name =
      (getKernelNameSource(ops.back())->getName().stripDialect() + "_kernel_" + Twine(number))
          .str();
  SmallVector<Value> operands(others.getArrayRef());
  if (anyWindow)
    for (Value &operand : operands)
      operand = castToWindow(builder, ops.back(), operand);
  func::CallOp::create(builder, loc, name, TypeRange(), operands);

  auto type = builder.getFunctionType(TypeRange(ValueRange(operands)), TypeRange());
  func::FuncOp kernel = createKernel(builder, module, loc, name, type);
  builder.setInsertionPointToStart(kernel.addEntryBlock());
  IRMapping mapping;
  mapping.map(others.getArrayRef(), kernel.getArguments());
  for (Value constant : constants)
    builder.clone(*constant.getDefiningOp(), mapping);
  for (Operation *op : ops)
    builder.clone(*op, mapping)->setLoc(loc);
  func::ReturnOp::create(builder, loc);
  for (Operation *op : ops)
    op->erase();
}

/// Returns true if `function` consists of loops rather than of kernels.
static bool isLoops(func::FuncOp function) {
  auto ops = function.getOps();
  return function.getNumResults() == 0 && llvm::none_of(ops, isBufferized) &&
         llvm::any_of(ops, [](Operation &op) { return isa<LoopLikeOpInterface>(op); });
}

static void outlineBody(func::FuncOp function, ModuleOp module) {
  OpBuilder builder(function);
  Location loc = function.getLoc();
  func::FuncOp kernel = createKernel(builder, module, loc, function.getName() + "_kernel",
                                     function.getFunctionType());
  kernel.getBody().takeBody(function.getBody());
  builder.setInsertionPointToStart(function.addEntryBlock());
  func::CallOp::create(builder, loc, kernel, function.getArguments());
  func::ReturnOp::create(builder, loc);
}

namespace {
struct OutlineKernelsPass : bppsa::impl::OutlineKernelsBase<OutlineKernelsPass> {
  using OutlineKernelsBase::OutlineKernelsBase;

  void runOnOperation() override {
    SmallVector<func::FuncOp> loops;
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      if (function.isExternal())
        continue;
      if (!function.isPrivate() && isLoops(function))
        loops.push_back(function);
      else
        collectKernels(function.front());
    }
    // Grouping must not change the names of other kernels.
    unsigned number = 0;
    for (ArrayRef<Operation *> ops : kernels) {
      outline(ops, getOperation(), number, anyWindow);
      number += ops.size();
    }
    for (func::FuncOp function : loops)
      outlineBody(function, getOperation());
    kernels.clear();
  }

private:
  void collectKernels(Block &block) {
    DenseSet<Operation *> followers;
    if (groupSums)
      followers = gatherSums(block);
    if (groupCopies)
      followers.insert_range(gatherCopies(block));
    if (groupFills)
      followers.insert_range(gatherFills(block));
    for (Operation &op : block) {
      if (followers.contains(&op))
        kernels.back().push_back(&op);
      else if (isBufferized(op) || isa<memref::AllocaScopeOp>(op))
        kernels.push_back({&op});
      else if (wholeLevels && isSweepLevel(op))
        kernels.push_back({&op});
      else if (containsKernelOps(op))
        for (Region &region : op.getRegions())
          for (Block &nested : region)
            collectKernels(nested);
      else if (isLoop(op))
        kernels.push_back({&op});
    }
  }

  SmallVector<SmallVector<Operation *, 1>> kernels;
};
} // namespace
