//===- SplitBackward.cpp - splits the backward pass by role ---------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Dialect/BPPSA/Analysis/ParameterGradientAnalysis.h"
#include "bppsa/Dialect/BPPSA/IR/BPPSASchedule.h"
#include "bppsa/Dialect/BPPSA/Transforms/BackwardOrder/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/MapVector.h"

namespace bppsa {
#define GEN_PASS_DEF_SPLITBACKWARD
#include "bppsa/Dialect/BPPSA/Transforms/BackwardOrder/Passes.h.inc"
} // namespace bppsa

using namespace mlir;
using namespace bppsa;

namespace {
struct BackwardOp {
  Operation *op;
  /// Includes values used in regions.
  SetVector<Value> operands;
  bool isParameter = false;
  /// The only parameter operation that uses the results, or the terminator.
  Operation *reached = nullptr;
  int64_t stage = 0;
};

class BackwardSplitter {
public:
  explicit BackwardSplitter(func::FuncOp function)
      : function(function), block(function.front()), terminator(block.getTerminator()),
        dependences(function) {}

  /// Returns false if there is no backward pass.
  bool run();
  int64_t count(bool isParameter) const {
    return llvm::count_if(
        backward, [&](const auto &entry) { return entry.second.isParameter == isParameter; });
  }
  int64_t getNumStages() const { return numStages; }

private:
  void findOperations();
  void findParameterSide();
  void findPreparations();
  void findStages();

  const BackwardOp *lookup(Operation *op) const {
    auto found = backward.find(op);
    return found == backward.end() ? nullptr : &found->second;
  }
  bool isParameterGradient(OpOperand &use) const;
  bool isParameterValue(Value value) const;
  unsigned number(Value value);
  void addUses(Value value);
  Operation *findOnlyParameterUser(Operation *op) const;
  bool isPreparation(const BackwardOp &entry, const DenseSet<Operation *> &candidates) const;
  BackwardRole getRole(const BackwardOp &entry) const;

  func::FuncOp function;
  Block &block;
  Operation *terminator;
  Dependences dependences;
  llvm::MapVector<Operation *, BackwardOp> backward;
  ParameterGradientAnalysis side;
  DenseMap<Value, unsigned> numbers;
  int64_t numStages = 0;
};
} // namespace

void BackwardSplitter::findOperations() {
  bool isBackward = false;
  for (Operation &op : block.without_terminator()) {
    if (auto phase = dyn_cast<MarkPhaseOp>(op))
      isBackward = phase.getPhase() == 1;
    if (isBackward && dependences.get(&op) != Dependence::Constants)
      backward.try_emplace(&op, BackwardOp{&op, getUsedValues(&op)});
  }
}

bool BackwardSplitter::isParameterGradient(OpOperand &use) const {
  auto name = attrs::Gradient::ofResult(function, use.getOperandNumber());
  return name && llvm::any_of(block.getArguments(), [&](BlockArgument argument) {
           return attrs::Parameter::ofArgument(function, argument.getArgNumber()) == name;
         });
}

bool BackwardSplitter::isParameterValue(Value value) const {
  auto found = numbers.find(value);
  return found != numbers.end() && side.isParameterValue(found->second);
}

unsigned BackwardSplitter::number(Value value) {
  auto [found, isNew] = numbers.try_emplace(value);
  if (isNew)
    found->second = side.addValue(dependences.get(value));
  return found->second;
}

void BackwardSplitter::addUses(Value value) {
  for (OpOperand &use : value.getUses()) {
    Operation *user = block.findAncestorOpInBlock(*use.getOwner());
    if (user == terminator || !lookup(user))
      side.addUse(number(value), user == terminator && isParameterGradient(use));
  }
}

void BackwardSplitter::findParameterSide() {
  for (auto &[op, entry] : backward) {
    SmallVector<unsigned> read, made;
    for (Value operand : entry.operands)
      read.push_back(number(operand));
    for (Value result : op->getResults())
      if (!result.use_empty())
        made.push_back(number(result));
    side.addOp(read, made, isMemoryEffectFree(op));
    llvm::for_each(op->getResults(), [&](Value result) { addUses(result); });
  }
  side.run();
  for (auto [i, entry] : llvm::enumerate(backward))
    entry.second.isParameter = side.isParameter(i);
}

/// Returns the single parameter operation that uses the results of `op`, possibly through other
/// operations; the terminator if there are other users.
Operation *BackwardSplitter::findOnlyParameterUser(Operation *op) const {
  Operation *reached = nullptr;
  for (Operation *user : op->getUsers()) {
    user = block.findAncestorOpInBlock(*user);
    const BackwardOp *entry = lookup(user);
    Operation *next = !entry ? terminator : entry->isParameter ? user : entry->reached;
    reached = !reached || reached == next ? next : terminator;
  }
  return reached;
}

/// The users of `entry` must be candidates or parameter operations.
bool BackwardSplitter::isPreparation(const BackwardOp &entry,
                                     const DenseSet<Operation *> &candidates) const {
  return llvm::all_of(entry.operands,
                      [&](Value operand) {
                        Operation *op = operand.getDefiningOp();
                        return !op || !lookup(op) || candidates.contains(op);
                      }) &&
         llvm::all_of(entry.op->getUsers(), [&](Operation *user) {
           user = block.findAncestorOpInBlock(*user);
           const BackwardOp *other = lookup(user);
           return candidates.contains(user) || (other && other->isParameter);
         });
}

/// Operations that only prepare an operand of one parameter operation can be deferred with it.
void BackwardSplitter::findPreparations() {
  DenseSet<Operation *> candidates;
  for (auto &[op, entry] : llvm::reverse(backward)) {
    if (entry.isParameter)
      continue;
    entry.reached = findOnlyParameterUser(op);
    if (entry.reached && entry.reached != terminator && isMemoryEffectFree(op) &&
        dependences.get(op) < Dependence::Targets)
      candidates.insert(op);
  }
  for (bool changed = true; std::exchange(changed, false);)
    for (auto &[op, entry] : backward)
      if (candidates.contains(op) && !isPreparation(entry, candidates)) {
        candidates.erase(op);
        changed = true;
      }
  for (auto &[op, entry] : backward) {
    if (candidates.contains(op))
      entry.isParameter = true;
    else
      entry.reached = nullptr;
  }
}

void BackwardSplitter::findStages() {
  // Position of the last cotangent operation that each parameter operation depends on, or -1.
  DenseMap<Operation *, int64_t> last;
  SetVector<int64_t> distinct;
  for (auto [position, item] : llvm::enumerate(backward)) {
    auto &[op, entry] = item;
    if (!entry.isParameter || entry.reached)
      continue;
    int64_t &own = last.try_emplace(op, -1).first->second;
    for (Value operand : entry.operands)
      if (const BackwardOp *other =
              operand.getDefiningOp() ? lookup(operand.getDefiningOp()) : nullptr) {
        int64_t number = backward.find(other->op) - backward.begin();
        own = std::max(own, !other->isParameter ? number
                            : other->reached    ? -1
                                                : last.lookup(other->op));
      }
    distinct.insert(own);
  }
  SmallVector<int64_t> positions = distinct.takeVector();
  llvm::sort(positions, std::greater<int64_t>());
  numStages = positions.size();
  for (auto &[op, entry] : backward)
    if (entry.isParameter)
      entry.stage = llvm::find(positions, last.lookup(entry.reached ? entry.reached : op)) -
                    positions.begin() + 1;
}

BackwardRole BackwardSplitter::getRole(const BackwardOp &entry) const {
  if (entry.isParameter)
    return BackwardRole::Parameter;
  bool makesGradient = llvm::any_of(entry.op->getResults(), [&](Value result) {
    return isParameterValue(result) || llvm::any_of(result.getUses(), [&](OpOperand &use) {
             return use.getOwner() == terminator && isParameterGradient(use);
           });
  });
  return makesGradient ? BackwardRole::Both : BackwardRole::Cotangent;
}

bool BackwardSplitter::run() {
  findOperations();
  if (backward.empty())
    return false;
  findParameterSide();
  findPreparations();
  findStages();
  for (const auto &[op, entry] : backward)
    attrs::BackwardPart::set(op,
                             BackwardPartAttr::get(op->getContext(), getRole(entry), entry.stage));
  return true;
}

namespace {
struct SplitBackwardPass : bppsa::impl::SplitBackwardBase<SplitBackwardPass> {
  void runOnOperation() override {
    func::FuncOp function = getOperation();
    if (!function.getBody().hasOneBlock())
      return;
    BackwardSplitter splitter(function);
    if (!splitter.run())
      return markAllAnalysesPreserved();
    numCotangents += splitter.count(/*isParameter=*/false);
    numParameters += splitter.count(/*isParameter=*/true);
    numStages += splitter.getNumStages();
  }
};
} // namespace
