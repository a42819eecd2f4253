//===- Interlock.cpp - interlocking backpropagation -----------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// Interlocking backpropagation (Gomez et al., JMLR 23, 2022) is the gradient of a sum over copies
// that stop cotangents in different places. CSE merges the copies once stop_gradient ops are
// removed.
//
//===----------------------------------------------------------------------===//

#include "Losses.h"
#include "Objective.h"
#include "bppsa/Dialect/BPPSA/Analysis/Dependences.h"
#include "bppsa/Dialect/BPPSA/IR/BPPSASchedule.h"
#include "bppsa/Dialect/BPPSA/IR/Entry.h"
#include "bppsa/Dialect/Dist/IR/Dist.h"
#include "bppsa/Differentiation/Passes.h"
#include "bppsa/Support/Refusal.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Remarks.h"
#include "llvm/ADT/MapVector.h"

namespace bppsa {
#define GEN_PASS_DEF_INTERLOCK
#include "bppsa/Differentiation/Passes.h.inc"
} // namespace bppsa

using namespace mlir;
using namespace bppsa;

/// The losses in the window of a module that train its parameters.
enum class Combine { Last, Sum, Mean };

static std::optional<Combine> parseCombine(StringRef text) {
  return llvm::StringSwitch<std::optional<Combine>>(text)
      .Case("last", Combine::Last)
      .Case("sum", Combine::Sum)
      .Case("mean", Combine::Mean)
      .Default(std::nullopt);
}

namespace {
/// A loss as seen by the modules that it trains with the same factor.
struct Term {
  int64_t loss;
  SmallVector<int64_t> modules;
  double factor;
  bool trainsHead;
};

/// The modules of a loss function, and the heads between modules and losses.
class ModuleCuts {
public:
  ModuleCuts(func::FuncOp function, ArrayRef<Value> losses);

  int64_t findEmptyModule() const;
  void markParameters(func::FuncOp function) const;
  std::optional<int64_t> getModule(Operation *op) const {
    auto found = modules.find(op);
    return found == modules.end() ? std::nullopt : std::optional<int64_t>(found->second);
  }
  bool isNeeded(Operation *op, int64_t loss) const { return needed[loss].contains(op); }
  bool dependsOnData(Value value) const { return dependences.get(value) >= Dependence::Data; }

private:
  Dependences dependences;
  SmallVector<DenseSet<Operation *>> needed;
  llvm::DenseMap<Operation *, int64_t> modules;
};

class TermBuilder {
public:
  TermBuilder(func::FuncOp function, const ModuleCuts &cuts)
      : block(function.front()), builder(block.getTerminator()), cuts(cuts) {
    for (Operation &op : block.without_terminator())
      ops.push_back(&op);
  }

  Value create(const Term &term, Value loss);
  OpBuilder &getBuilder() { return builder; }

private:
  Value adapt(Value value, bool isTrained);

  Block &block;
  OpBuilder builder;
  const ModuleCuts &cuts;
  SmallVector<Operation *> ops;
  llvm::DenseMap<Value, Value> stopped;
};
} // namespace

ModuleCuts::ModuleCuts(func::FuncOp function, ArrayRef<Value> losses) : dependences(function) {
  Block &block = function.front();
  llvm::DenseMap<Operation *, int64_t> counts;
  for (Value loss : losses) {
    DenseSet<Operation *> &found = needed.emplace_back();
    SmallVector<Value> worklist = {loss};
    while (!worklist.empty()) {
      Value value = worklist.pop_back_val();
      Operation *op = value.getDefiningOp();
      if (!op || !dependsOnData(value) || !found.insert(op).second)
        continue;
      ++counts[op];
      llvm::append_range(worklist, getUsedValues(op));
    }
  }
  // An operation shared by several losses belongs to the module of the first of them.
  int64_t last = losses.size() - 1;
  for (Operation &op : block)
    for (int64_t loss = 0; loss <= last; ++loss)
      if (isNeeded(&op, loss)) {
        if (loss == last || counts[&op] > 1)
          modules[&op] = loss;
        break;
      }
}

int64_t ModuleCuts::findEmptyModule() const {
  SmallVector<bool> found(needed.size(), false);
  for (auto [op, module] : modules)
    found[module] |= llvm::any_of(
        op->getResultTypes(), [](Type type) { return isa<FloatType>(getElementTypeOrSelf(type)); });
  auto *empty = llvm::find(found, false);
  return empty == found.end() ? -1 : empty - found.begin();
}

static void forEachArgument(Value value, function_ref<void(BlockArgument)> visit) {
  SmallVector<Value> worklist = {value};
  llvm::SmallDenseSet<Value> seen;
  while (!worklist.empty()) {
    Value next = worklist.pop_back_val();
    if (!seen.insert(next).second)
      continue;
    if (auto argument = dyn_cast<BlockArgument>(next))
      visit(argument);
    else
      llvm::append_range(worklist, getUsedValues(next.getDefiningOp()));
  }
}

void ModuleCuts::markParameters(func::FuncOp function) const {
  Builder builder(function.getContext());
  for (Operation &op : function.front())
    for (int64_t loss = 0, e = needed.size(); loss < e; ++loss) {
      if (!isNeeded(&op, loss))
        continue;
      for (Value value : getUsedValues(&op))
        if (!dependsOnData(value))
          forEachArgument(value, [&](BlockArgument argument) {
            unsigned number = argument.getArgNumber();
            if (attrs::Parameter::ofArgument(function, number) &&
                !attrs::Stage::ofArgument(function, number))
              attrs::Stage::setOfArgument(function, number,
                                          builder.getI64IntegerAttr(getModule(&op).value_or(loss)));
          });
      break;
    }
}

Value TermBuilder::adapt(Value value, bool isTrained) {
  // Cotangents of activations stop at the inputs of the copied part.
  bool isActivation = value.getDefiningOp() && cuts.dependsOnData(value);
  if ((isTrained && !isActivation) || !isa<FloatType>(getElementTypeOrSelf(value.getType())))
    return value;
  Value &other = stopped[value];
  if (!other) {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointAfterValue(value);
    other = StopGradientOp::create(builder, value.getLoc(), value);
  }
  return other;
}

Value TermBuilder::create(const Term &term, Value loss) {
  IRMapping copies;
  for (Operation *op : ops) {
    if (!cuts.isNeeded(op, term.loss))
      continue;
    std::optional<int64_t> module = cuts.getModule(op);
    if (module && (term.modules.empty() || *module < term.modules.front()))
      continue;
    bool isTrained = module ? llvm::is_contained(term.modules, *module) : term.trainsHead;
    IRMapping mapping = copies;
    for (Value value : getUsedValues(op))
      if (!copies.contains(value))
        mapping.map(value, adapt(value, isTrained));
    Operation *copy = builder.clone(*op, mapping);
    copies.map(op->getResults(), copy->getResults());
  }
  return copies.lookup(loss);
}

static double getFactor(Combine combine, int64_t window, int64_t count, int64_t module,
                        int64_t loss) {
  int64_t last = std::min(module + window, count) - 1;
  if (loss < module || loss > last)
    return 0;
  switch (combine) {
  case Combine::Last:
    return loss == last ? 1 : 0;
  case Combine::Sum:
    return 1;
  case Combine::Mean:
    return 1.0 / static_cast<double>(last - module + 1);
  }
  llvm_unreachable("unknown combination");
}

/// Modules that a loss trains with the same factor share a term. A loss trains its head with factor
/// 1.
static SmallVector<Term> collectTerms(Combine combine, int64_t window, int64_t count) {
  SmallVector<Term> terms;
  for (int64_t loss = 0; loss < count; ++loss) {
    llvm::MapVector<int64_t, Term> byShare;
    for (int64_t module = 0; module <= loss; ++module)
      if (double factor = getFactor(combine, window, count, module, loss); factor != 0) {
        auto share = static_cast<int64_t>(1 / factor + 0.5);
        Term &term = byShare.try_emplace(share, Term{loss, {}, factor, false}).first->second;
        term.modules.push_back(module);
        term.trainsHead |= factor == 1 && module == loss;
      }
    bool isHeadTrained = loss + 1 == count;
    for (auto &[share, term] : byShare) {
      isHeadTrained |= term.trainsHead;
      terms.push_back(term);
    }
    if (!isHeadTrained)
      terms.push_back({loss, {}, 1, true});
  }
  return terms;
}

/// With several losses, the first result is their sum and is skipped.
static SmallVector<Value> collectLosses(func::FuncOp function) {
  SmallVector<Value> losses;
  for (unsigned i = 0, e = function.getNumResults(); i < e; ++i)
    if (attrs::Loss::ofResult(function, i))
      losses.push_back(function.front().getTerminator()->getOperand(i));
  if (losses.size() > 1)
    losses.erase(losses.begin());
  return losses;
}

static void emitRemark(func::FuncOp function, int64_t window, size_t modules, size_t terms) {
  auto options =
      remark::RemarkOpts::name("Interlock").category("interlock").function(function.getName());
  remark::passed(function.getLoc(), options)
      << remark::add("{0} modules, cotangents pass {1} of them down: {2} terms", modules,
                     std::min<int64_t>(window, modules) - 1, terms);
}

namespace {
struct InterlockPass : bppsa::impl::InterlockBase<InterlockPass> {
  using InterlockBase::InterlockBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    auto source = module.lookupSymbol<func::FuncOp>(of);
    std::optional<Combine> combination = parseCombine(combine);
    if (!source || source.isExternal() || !source.getBody().hasOneBlock()) {
      refuse(module) << "needs a function @" << of << " with one block; run bppsa-add-loss";
      return signalPassFailure();
    }
    if (window < 1 || !combination) {
      refuse(source) << "needs a window of at least 1 and last, sum or mean to combine, found "
                     << window.getValue() << " and '" << combine << "'";
      return signalPassFailure();
    }
    func::FuncOp function = copyWithoutEntry(source, name);
    if (failed(interlock(function, *combination)))
      signalPassFailure();
  }

private:
  LogicalResult interlock(func::FuncOp function, Combine combination) {
    SmallVector<Value> losses = collectLosses(function);
    if (losses.empty() || (!factors.empty() && factors.size() != losses.size()))
      return refuse(function) << "needs a loss for each module, and as many factors or none, "
                                 "found "
                              << losses.size() << " and " << factors.size();
    ModuleCuts cuts(function, losses);
    if (int64_t empty = cuts.findEmptyModule(); empty >= 0)
      return refuse(function)
             << "loss " << empty + 1 << " of " << losses.size()
             << " cuts no module off: no activation leads to it and to a later loss but to none "
                "before it; name the heads from the first to the last";
    cuts.markParameters(function);
    SmallVector<Value> values;
    SmallVector<double> scales;
    TermBuilder builder(function, cuts);
    for (const Term &term : collectTerms(combination, window, losses.size())) {
      values.push_back(builder.create(term, losses[term.loss]));
      scales.push_back(term.factor * (factors.empty() ? 1 : factors[term.loss]));
    }
    emitRemark(function, window, losses.size(), values.size());
    appendObjective(function,
                    createLossSum(builder.getBuilder(), function.getLoc(), values, scales));
    return success();
  }
};
} // namespace
