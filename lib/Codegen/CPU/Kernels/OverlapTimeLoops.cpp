//===- OverlapTimeLoops.cpp - run independent time loops in parallel ------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Codegen/CPU/Kernels/Passes.h"
#include "bppsa/Dialect/BPPSA/Analysis/MemoryAccesses.h"
#include "bppsa/Dialect/BPPSA/IR/BPPSA.h"
#include "bppsa/Dialect/BPPSA/Utils/MultiplyAdds.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/Support/DebugLog.h"

#define DEBUG_TYPE "bppsa-overlap-time-loops"

namespace bppsa {
#define GEN_PASS_DEF_OVERLAPTIMELOOPS
#include "bppsa/Codegen/CPU/Kernels/Passes.h.inc"
} // namespace bppsa

using namespace mlir;
using namespace bppsa;

/// Entry point of the run time (ObjectInterface.h).
static constexpr StringLiteral kShouldOverlap = "bppsa_rt_side_by_side";

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

namespace {
struct Kernel {
  llvm::BitVector writes;
  std::optional<unsigned> rows;
  int64_t work = 0;
  int64_t sumWork = 0;
};
} // namespace

/// Returns the argument of `kernel` with one row per row of the time loop `op`; nothing for other
/// operations.
static std::optional<unsigned> findRows(func::FuncOp kernel, Operation &op) {
  ValueRange states;
  if (auto recurrence = dyn_cast<RecurrenceOp>(op))
    states = recurrence.getInitial();
  else if (auto chain = dyn_cast<ChainOp>(op))
    states = chain.getSeeds();
  return states.empty() ? std::nullopt : getViewedArgument(kernel, states.front());
}

static int64_t countWork(Operation &op) {
  Block &body = op.getRegion(0).front();
  int64_t numbers = 0;
  auto count = [&](Value value) {
    if (auto type = cast<VectorType>(value.getType()); type.getRank() == 1)
      numbers += type.getNumElements();
  };
  llvm::for_each(body.getArguments(), count);
  llvm::for_each(body.getTerminator()->getOperands(), count);
  return countMultiplyAdds(body) / std::max<int64_t>(numbers, 1);
}

static int64_t countSumWork(Operation &op) {
  constexpr int64_t kRead = 8;
  auto count = [](Value destination) {
    return destination ? cast<MemRefType>(destination.getType()).getNumElements() : 0;
  };
  if (auto sum = dyn_cast<OuterSumOp>(op))
    return count(sum.getDestination());
  if (auto sum = dyn_cast<StepSumOp>(op))
    return kRead * count(sum.getDestination());
  return 0;
}

static Kernel analyze(func::FuncOp function) {
  Kernel kernel;
  kernel.writes = getWrittenArguments(function);
  if (function.isExternal())
    return kernel;
  if (Operation &only = function.front().front(); only.getNextNode() == &function.front().back())
    kernel.sumWork = countSumWork(only);
  auto scopes = function.getOps<memref::AllocaScopeOp>();
  Block &body = scopes.empty() ? function.front() : (*scopes.begin()).getBodyRegion().front();
  for (Operation &op : body)
    if (std::optional<unsigned> rows = findRows(function, op)) {
      kernel.rows = rows;
      kernel.work = countWork(op);
    }
  return kernel;
}

//===----------------------------------------------------------------------===//
// Groups
//===----------------------------------------------------------------------===//

namespace {
/// The memory and values that a set of operations uses and defines.
class Footprint {
public:
  void add(Operation *op, ArrayRef<MemoryAccess> accesses) {
    values.insert(op->result_begin(), op->result_end());
    for (const MemoryAccess &access : accesses)
      (access.isWrite ? written : read).insert(access.array);
  }
  bool isNeededBy(Operation *op, ArrayRef<MemoryAccess> accesses) const {
    return llvm::any_of(op->getOperands(), [&](Value value) { return values.contains(value); }) ||
           llvm::any_of(accesses, [&](const MemoryAccess &access) {
             return written.contains(access.array) ||
                    (access.isWrite && read.contains(access.array));
           });
  }

private:
  DenseSet<Value> values, read, written;
};

/// Independent time loops or sums, and the operations between the first and the last that depend on
/// them.
struct Group {
  SmallVector<func::CallOp> loops;
  SmallVector<Operation *> users;
};

class Overlapper {
public:
  Overlapper(ModuleOp module, int64_t minWork, bool takesSums)
      : symbols(module), minWork(minWork), takesSums(takesSums) {}
  unsigned run(Block &block);

private:
  const Kernel *lookUp(Operation *op);
  bool isTimeLoop(Operation *op);
  int64_t getSumWork(Operation *op);
  std::optional<SmallVector<MemoryAccess>> getAccesses(Operation *op);
  Group findGroup(Operation *first);
  void balance(SmallVectorImpl<func::CallOp> &sums);
  Value countIterations(OpBuilder &builder, func::CallOp first);
  scf::IfOp overlap(const Group &group);

  SymbolTable symbols;
  int64_t minWork;
  bool takesSums;
  DenseMap<Operation *, Kernel> kernels;
};
} // namespace

const Kernel *Overlapper::lookUp(Operation *op) {
  auto call = dyn_cast<func::CallOp>(op);
  auto callee = call ? symbols.lookup<func::FuncOp>(call.getCallee()) : func::FuncOp();
  if (!callee || callee.isExternal() || !callee.isPrivate())
    return nullptr;
  auto [it, isNew] = kernels.try_emplace(callee);
  if (isNew)
    it->second = analyze(callee);
  return &it->second;
}

bool Overlapper::isTimeLoop(Operation *op) {
  const Kernel *kernel = lookUp(op);
  return kernel && kernel->rows && kernel->work >= minWork;
}

int64_t Overlapper::getSumWork(Operation *op) {
  const Kernel *kernel = takesSums ? lookUp(op) : nullptr;
  return kernel ? kernel->sumWork : 0;
}

/// Returns the memory accesses of `op`, each array identified by an allocation or a function
/// argument; these do not overlap.
std::optional<SmallVector<MemoryAccess>> Overlapper::getAccesses(Operation *op) {
  if (isa<memref::AllocOp>(op) || isMemoryEffectFree(op))
    return SmallVector<MemoryAccess>();
  const Kernel *kernel = lookUp(op);
  if (!kernel && !isa<memref::DeallocOp>(op))
    return std::nullopt;
  return getArrayAccesses(op->getOperands(),
                          [&](unsigned i) { return !kernel || kernel->writes.test(i); });
}

/// Returns the time loops or sums that may run in parallel with `first`. Sums do not move across
/// time loops, which would extend the lifetime of their operands.
Group Overlapper::findGroup(Operation *first) {
  bool areSums = !isTimeLoop(first);
  Group group;
  Footprint footprint;
  size_t numUsers = 0;
  for (Operation *op = first; op; op = op->getNextNode()) {
    std::optional<SmallVector<MemoryAccess>> accesses = getAccesses(op);
    const Kernel *kernel = lookUp(op);
    if (!accesses || (areSums && kernel && kernel->rows))
      break;
    bool isUser = footprint.isNeededBy(op, *accesses);
    if (isUser) {
      group.users.push_back(op);
    } else if (areSums ? getSumWork(op) > 0 : isTimeLoop(op)) {
      group.loops.push_back(cast<func::CallOp>(op));
      numUsers = group.users.size();
    } else {
      continue;
    }
    footprint.add(op, *accesses);
  }
  group.users.truncate(numUsers);
  if (areSums)
    balance(group.loops);
  return group;
}

/// Balances the work of threads, each of which takes neighbouring sums.
void Overlapper::balance(SmallVectorImpl<func::CallOp> &sums) {
  int64_t all = 0, done = 0;
  for (func::CallOp sum : sums)
    all += getSumWork(sum);
  for (size_t i = 0, count = sums.size(); i < count; ++i) {
    int64_t wanted = all * static_cast<int64_t>(i + 1) / static_cast<int64_t>(count) - done;
    auto distance = [&](func::CallOp sum) { return std::abs(getSumWork(sum) - wanted); };
    auto rest = MutableArrayRef(sums).drop_front(i);
    std::swap(rest.front(), *llvm::min_element(rest, [&](func::CallOp a, func::CallOp b) {
                return distance(a) < distance(b);
              }));
    done += getSumWork(rest.front());
  }
}

//===----------------------------------------------------------------------===//
// Rewriting
//===----------------------------------------------------------------------===//

static Value createConstant(OpBuilder &builder, Location loc, int64_t value) {
  return arith::ConstantIndexOp::create(builder, loc, value);
}

static Value askRuntime(OpBuilder &builder, ModuleOp module, SymbolTable &symbols, Location loc,
                        int64_t loops, Value iterations) {
  Type index = builder.getIndexType();
  if (!symbols.lookup(kShouldOverlap)) {
    auto function = func::FuncOp::create(module.getLoc(), kShouldOverlap,
                                         builder.getFunctionType({index, index}, {index}));
    function.setPrivate();
    symbols.insert(function, module.getBody()->begin());
  }
  auto answer = func::CallOp::create(builder, loc, kShouldOverlap, TypeRange{index},
                                     ValueRange{createConstant(builder, loc, loops), iterations});
  return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ne, answer.getResult(0),
                               createConstant(builder, loc, 0));
}

static void createParallel(OpBuilder &builder, Location loc, ArrayRef<func::CallOp> loops) {
  auto size = static_cast<int64_t>(loops.size());
  auto parallel = scf::ParallelOp::create(builder, loc, ValueRange{createConstant(builder, loc, 0)},
                                          ValueRange{createConstant(builder, loc, size)},
                                          ValueRange{createConstant(builder, loc, 1)});
  builder.setInsertionPointToStart(parallel.getBody());
  auto cases = llvm::to_vector(llvm::seq<int64_t>(0, size - 1));
  auto choice = scf::IndexSwitchOp::create(builder, loc, TypeRange(),
                                           parallel.getInductionVars().front(), cases, size - 1);
  auto fill = [&](Region &region, func::CallOp loop) {
    builder.createBlock(&region);
    builder.clone(*loop);
    scf::YieldOp::create(builder, loc);
  };
  for (auto [region, loop] : llvm::zip_equal(choice.getCaseRegions(), loops.drop_back()))
    fill(region, loop);
  fill(choice.getDefaultRegion(), loops.back());
}

Value Overlapper::countIterations(OpBuilder &builder, func::CallOp first) {
  constexpr int64_t kSumTasks = 4;
  if (std::optional<unsigned> rows = lookUp(first)->rows)
    return memref::DimOp::create(builder, first.getLoc(), first.getOperand(*rows), 0);
  return createConstant(builder, first.getLoc(), kSumTasks);
}

scf::IfOp Overlapper::overlap(const Group &group) {
  func::CallOp last = *llvm::max_element(
      group.loops, [](func::CallOp a, func::CallOp b) { return a->isBeforeInBlock(b); });
  Operation *behind = last;
  for (Operation *user : group.users) {
    user->moveAfter(behind);
    behind = user;
  }
  OpBuilder builder(last);
  Location loc = builder.getFusedLoc(
      llvm::map_to_vector(group.loops, [](func::CallOp loop) { return loop.getLoc(); }));
  Value isParallel = askRuntime(builder, last->getParentOfType<ModuleOp>(), symbols, loc,
                                static_cast<int64_t>(group.loops.size()),
                                countIterations(builder, group.loops.front()));
  auto choice = scf::IfOp::create(builder, loc, isParallel, /*withElseRegion=*/true);
  builder.setInsertionPointToStart(choice.thenBlock());
  createParallel(builder, loc, group.loops);
  for (func::CallOp loop : group.loops)
    loop->moveBefore(choice.elseBlock()->getTerminator());
  return choice;
}

unsigned Overlapper::run(Block &block) {
  unsigned count = 0;
  for (Operation *op = block.empty() ? nullptr : &block.front(); op; op = op->getNextNode()) {
    if (!isTimeLoop(op) && getSumWork(op) == 0)
      continue;
    Group group = findGroup(op);
    if (group.loops.size() < 2)
      continue;
    LDBG() << group.loops.size() << " loops side by side, " << group.loops.front().getCallee()
           << " among them";
    op = overlap(group);
    ++count;
  }
  return count;
}

namespace {
struct OverlapTimeLoopsPass : bppsa::impl::OverlapTimeLoopsBase<OverlapTimeLoopsPass> {
  using OverlapTimeLoopsBase::OverlapTimeLoopsBase;

  void runOnOperation() override {
    Overlapper overlapper(getOperation(), minWork, sums);
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (!function.isExternal() && !function.isPrivate()) {
        SmallVector<Block *> blocks;
        function.walk([&](Block *block) { blocks.push_back(block); });
        for (Block *block : blocks)
          numGroups += overlapper.run(*block);
      }
  }
};
} // namespace
