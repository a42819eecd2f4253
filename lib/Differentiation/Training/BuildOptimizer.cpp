//===- BuildOptimizer.cpp - parameter updates on flat arrays --------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Dialect/BPPSA/IR/DiscardableAttributes.h"
#include "bppsa/Differentiation/Passes.h"
#include "bppsa/Program/Optimizers.h"
#include "bppsa/Support/Refusal.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace bppsa {
#define GEN_PASS_DEF_BUILDOPTIMIZER
#include "bppsa/Differentiation/Passes.h.inc"
} // namespace bppsa

using namespace mlir;
using namespace bppsa;
using program::Optimizer;
using program::OptimizerKind;

namespace {
/// The values of one vector of the arrays before the update, and constants.
struct UpdateState {
  Value parameter, gradient, state0, state1;
  Value learningRate, weightDecay, beta1, beta2, epsilon;
  /// `1 - beta1^step` and `1 - beta2^step`.
  Value correction1, correction2;
};

struct VectorMath {
  ImplicitLocOpBuilder &b;
  VectorType type;

  Value add(Value x, Value y) const { return arith::AddFOp::create(b, x, y); }
  Value sub(Value x, Value y) const { return arith::SubFOp::create(b, x, y); }
  Value mul(Value x, Value y) const { return arith::MulFOp::create(b, x, y); }
  Value div(Value x, Value y) const { return arith::DivFOp::create(b, x, y); }
  Value sqrt(Value x) const { return math::SqrtOp::create(b, x); }
  Value fma(Value x, Value y, Value z) const { return math::FmaOp::create(b, x, y, z); }
  Value constant(double value) const {
    return arith::ConstantOp::create(b, DenseElementsAttr::get(type, static_cast<float>(value)));
  }
  Value average(Value rate, Value old, Value x) const {
    return add(mul(rate, old), mul(sub(constant(1), rate), x));
  }
};
} // namespace

/// Returns the new parameters of one vector and changes the states in `s`, as PyTorch's optimizers
/// do.
using Update = Value (*)(VectorMath math, UpdateState &s);

static Value decayGradient(VectorMath math, const UpdateState &s) {
  return math.fma(s.weightDecay, s.parameter, s.gradient);
}

static Value updateSGD(VectorMath math, UpdateState &s) {
  return math.sub(s.parameter, math.mul(s.learningRate, decayGradient(math, s)));
}

/// `beta1` is the momentum; the velocity starts as zero.
static Value updateMomentum(VectorMath math, UpdateState &s) {
  s.state0 = math.fma(s.beta1, s.state0, decayGradient(math, s));
  return math.sub(s.parameter, math.mul(s.learningRate, s.state0));
}

static Value stepAdam(VectorMath math, UpdateState &s, Value parameter, Value gradient) {
  s.state0 = math.average(s.beta1, s.state0, gradient);
  s.state1 = math.average(s.beta2, s.state1, math.mul(gradient, gradient));
  Value size = math.div(s.learningRate, s.correction1);
  Value spread = math.add(math.sqrt(math.div(s.state1, s.correction2)), s.epsilon);
  return math.sub(parameter, math.mul(size, math.div(s.state0, spread)));
}

static Value updateAdam(VectorMath math, UpdateState &s) {
  return stepAdam(math, s, s.parameter, decayGradient(math, s));
}

static Value updateAdamW(VectorMath math, UpdateState &s) {
  Value shrink = math.sub(math.constant(1), math.mul(s.learningRate, s.weightDecay));
  return stepAdam(math, s, math.mul(s.parameter, shrink), s.gradient);
}

/// `beta1` is the smoothing constant.
static Value updateRMSprop(VectorMath math, UpdateState &s) {
  Value gradient = decayGradient(math, s);
  s.state0 = math.average(s.beta1, s.state0, math.mul(gradient, gradient));
  Value spread = math.add(math.sqrt(s.state0), s.epsilon);
  return math.sub(s.parameter, math.mul(s.learningRate, math.div(gradient, spread)));
}

static Update getUpdate(OptimizerKind kind) {
  switch (kind) {
  case OptimizerKind::SGD:
    return updateSGD;
  case OptimizerKind::Momentum:
    return updateMomentum;
  case OptimizerKind::Adam:
    return updateAdam;
  case OptimizerKind::AdamW:
    return updateAdamW;
  case OptimizerKind::RMSprop:
    return updateRMSprop;
  }
  llvm_unreachable("every optimizer is listed");
}

static func::FuncOp createFunction(ImplicitLocOpBuilder &b, ModuleOp module, StringRef name,
                                   TypeRange arguments) {
  b.setInsertionPointToEnd(module.getBody());
  auto function = func::FuncOp::create(b, name, b.getFunctionType(arguments, {}));
  b.setInsertionPointToStart(function.addEntryBlock());
  return function;
}

namespace {
struct VectorLoop {
  LoopLikeOpInterface loop;
  Value index;
};
} // namespace

/// With one lane, the loop is parallel.
static VectorLoop createLoop(ImplicitLocOpBuilder &b, ValueRange arrays, Value blocks,
                             int64_t lanes, ValueRange initial = {}) {
  Value zero = arith::ConstantIndexOp::create(b, 0);
  Value width = arith::ConstantIndexOp::create(b, lanes);
  Value size = memref::DimOp::create(b, blocks ? blocks : arrays.front(), zero);
  if (lanes == 1) {
    auto loop = scf::ParallelOp::create(b, ValueRange{zero}, ValueRange{size}, ValueRange{width});
    b.setInsertionPointToStart(loop.getBody());
    return {loop, loop.getInductionVars().front()};
  }
  Value step = blocks ? arith::ConstantIndexOp::create(b, 1) : width;
  auto loop = scf::ForOp::create(b, zero, size, step, initial);
  b.setInsertionPointToStart(loop.getBody());
  if (!blocks)
    return {loop, loop.getInductionVar()};
  auto getElement = [&](Value number) -> Value {
    Value block = memref::LoadOp::create(b, blocks, number);
    block = arith::IndexCastOp::create(b, b.getIndexType(), block);
    return arith::MulIOp::create(b, block, width);
  };
  // Hardware prefetchers follow sequential accesses only, and pruned blocks leave gaps.
  constexpr int64_t kBlocksAhead = 16;
  Value ahead = arith::ConstantIndexOp::create(b, kBlocksAhead);
  ahead = arith::AddIOp::create(b, loop.getInductionVar(), ahead);
  Value last = arith::SubIOp::create(b, size, step);
  ahead = getElement(arith::MinUIOp::create(b, ahead, last));
  for (Value prefetched : arrays)
    memref::PrefetchOp::create(b, prefetched, ahead, /*isWrite=*/false, /*localityHint=*/3,
                               /*isDataCache=*/true);
  return {loop, getElement(loop.getInductionVar())};
}

/// Returns `base^exponent` for an integer exponent below 2^24, by squaring: GPUs have no `pow` in
/// f64.
static Value createPower(ImplicitLocOpBuilder &b, Value base, Value exponent) {
  Value bits = arith::FPToSIOp::create(b, b.getI32Type(), exponent);
  Value one = arith::ConstantOp::create(b, b.getF64FloatAttr(1));
  auto integer = [&](int32_t value) -> Value {
    return arith::ConstantOp::create(b, b.getI32IntegerAttr(value));
  };
  auto index = [&](int64_t value) { return arith::ConstantIndexOp::create(b, value); };
  auto loop = scf::ForOp::create(b, index(0), index(24), index(1), ValueRange{one, base, bits});
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  ValueRange carried = loop.getRegionIterArgs();
  Value isOdd = arith::TruncIOp::create(b, b.getI1Type(), carried[2]);
  Value product = arith::MulFOp::create(b, carried[0], carried[1]);
  Value power = arith::SelectOp::create(b, isOdd, product, carried[0]);
  Value square = arith::MulFOp::create(b, carried[1], carried[1]);
  Value rest = arith::ShRUIOp::create(b, carried[2], integer(1));
  scf::YieldOp::create(b, ValueRange{power, square, rest});
  return loop.getResult(0);
}

/// Returns `1 - beta^step` in every lane, computed in f64.
static Value createCorrection(ImplicitLocOpBuilder &b, Value beta, Value step, Type type) {
  Value wideBeta = arith::ExtFOp::create(b, b.getF64Type(), beta);
  Value one = arith::ConstantOp::create(b, b.getF64FloatAttr(1));
  Value correction = arith::SubFOp::create(b, one, createPower(b, wideBeta, step));
  correction = arith::TruncFOp::create(b, b.getF32Type(), correction);
  return vector::BroadcastOp::create(b, type, correction);
}

static bool isPruned(ModuleOp module) {
  return llvm::any_of(module.getOps<func::FuncOp>(), [](func::FuncOp function) {
    return llvm::any_of(llvm::seq(function.getNumArguments()), [&](unsigned i) {
      return static_cast<bool>(attrs::Nonzeros::ofArgument(function, i));
    });
  });
}

/// `blocksType` is the type of the list of unpruned blocks, or null.
static void createUpdate(ImplicitLocOpBuilder &b, ModuleOp module, const Optimizer &optimizer,
                         int64_t lanes, Type blocksType) {
  auto vectorType = VectorType::get(lanes, b.getF32Type());
  Type array = MemRefType::get({ShapedType::kDynamic}, b.getF32Type());
  Type hyperType = MemRefType::get({program::kNumHyperSlots}, b.getF32Type());
  SmallVector<Type> types = {array, array, array, array, hyperType};
  if (blocksType)
    types.push_back(blocksType);
  func::FuncOp function = createFunction(b, module, "update", types);
  Value blocks = blocksType ? function.getArguments().back() : Value();
  ValueRange arrays = function.getArguments().take_front(4);
  SmallVector<Value> scalars;
  for (int64_t i = 0; i <= program::kEpsilonSlot; ++i)
    scalars.push_back(memref::LoadOp::create(b, function.getArgument(4),
                                             arith::ConstantIndexOp::create(b, i).getResult()));
  auto spread = [&](program::HyperSlot slot) -> Value {
    return vector::BroadcastOp::create(b, vectorType, scalars[slot]);
  };
  auto correct = [&](program::HyperSlot beta) {
    return createCorrection(b, scalars[beta], scalars[program::kStepSlot], vectorType);
  };
  UpdateState s;
  s.learningRate = spread(program::kRateSlot);
  s.weightDecay = spread(program::kWeightDecaySlot);
  s.beta1 = spread(program::kBeta1Slot);
  s.beta2 = spread(program::kBeta2Slot);
  s.epsilon = spread(program::kEpsilonSlot);
  s.correction1 = correct(program::kBeta1Slot);
  s.correction2 = correct(program::kBeta2Slot);
  Value scale = spread(program::kScaleSlot);

  auto [loop, i] = createLoop(b, arrays.take_front(2 + optimizer.numStates), blocks, lanes);
  auto load = [&, index = i](unsigned array) -> Value {
    return vector::LoadOp::create(b, vectorType, arrays[array], index);
  };
  VectorMath math{b, vectorType};
  s.parameter = load(0);
  s.gradient = math.mul(load(1), scale);
  if (optimizer.numStates > 0)
    s.state0 = load(2);
  if (optimizer.numStates > 1)
    s.state1 = load(3);
  Value parameter = getUpdate(optimizer.kind)(math, s);
  vector::StoreOp::create(b, parameter, arrays[0], i);
  if (optimizer.numStates > 0)
    vector::StoreOp::create(b, s.state0, arrays[2], i);
  if (optimizer.numStates > 1)
    vector::StoreOp::create(b, s.state1, arrays[3], i);
  b.setInsertionPointAfter(loop);
  func::ReturnOp::create(b);
}

static void createLaneSums(ImplicitLocOpBuilder &b, Value array, Value blocks, Value result,
                           int64_t lanes) {
  auto narrow = VectorType::get(lanes, b.getF32Type());
  auto wide = VectorType::get(lanes, b.getF64Type());
  Value zeros = arith::ConstantOp::create(b, b.getZeroAttr(wide));
  VectorLoop over = createLoop(b, array, blocks, lanes, zeros);
  auto loop = cast<scf::ForOp>(over.loop);
  Value x = vector::LoadOp::create(b, narrow, array, over.index);
  x = arith::ExtFOp::create(b, wide, x);
  Value sum = math::FmaOp::create(b, x, x, loop.getRegionIterArg(0));
  scf::YieldOp::create(b, sum);
  b.setInsertionPointAfter(loop);
  Value total = vector::ExtractOp::create(b, loop.getResult(0), 0);
  for (int64_t lane = 1; lane < lanes; ++lane)
    total = arith::AddFOp::create(b, total, vector::ExtractOp::create(b, loop.getResult(0), lane));
  memref::StoreOp::create(b, total, result);
}

static void createReduction(ImplicitLocOpBuilder &b, Value array, Value result) {
  Value zero = arith::ConstantOp::create(b, b.getF64FloatAttr(0));
  linalg::FillOp::create(b, zero, result);
  MLIRContext *context = b.getContext();
  SmallVector<AffineMap> maps = {AffineMap::getMultiDimIdentityMap(1, context),
                                 AffineMap::get(1, 0, context)};
  linalg::GenericOp::create(b, array, result, maps, utils::IteratorType::reduction,
                            [&](OpBuilder &nested, Location loc, ValueRange arguments) {
                              Value x = arith::ExtFOp::create(nested, loc, nested.getF64Type(),
                                                              arguments[0]);
                              Value square = arith::MulFOp::create(nested, loc, x, x);
                              Value sum = arith::AddFOp::create(nested, loc, arguments[1], square);
                              linalg::YieldOp::create(nested, loc, sum);
                            });
}

static void createSumOfSquares(ImplicitLocOpBuilder &b, ModuleOp module, int64_t lanes,
                               Type blocksType) {
  Type array = MemRefType::get({ShapedType::kDynamic}, b.getF32Type());
  SmallVector<Type> types = {array, MemRefType::get({}, b.getF64Type())};
  if (blocksType)
    types.push_back(blocksType);
  func::FuncOp function = createFunction(b, module, "sumsq", types);
  Value blocks = blocksType ? function.getArguments().back() : Value();
  if (lanes == 1)
    createReduction(b, function.getArgument(0), function.getArgument(1));
  else
    createLaneSums(b, function.getArgument(0), blocks, function.getArgument(1), lanes);
  func::ReturnOp::create(b);
}

namespace {
struct BuildOptimizerPass : bppsa::impl::BuildOptimizerBase<BuildOptimizerPass> {
  using BuildOptimizerBase::BuildOptimizerBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    const Optimizer *found = program::findNamed(program::kOptimizers, optimizer);
    if (!found) {
      refuse(module) << "unknown optimizer '" << optimizer << "'; there are "
                     << program::listNames(program::kOptimizers, "and");
      return signalPassFailure();
    }
    auto name = StringAttr::get(&getContext(), "optimizer " + optimizer);
    ImplicitLocOpBuilder b(NameLoc::get(name, module.getLoc()), &getContext());
    Type blocksType;
    if (lanes > 1 && isPruned(module))
      blocksType = MemRefType::get({ShapedType::kDynamic}, b.getI32Type());
    createUpdate(b, module, *found, lanes, blocksType);
    createSumOfSquares(b, module, lanes, blocksType);
  }
};
} // namespace
