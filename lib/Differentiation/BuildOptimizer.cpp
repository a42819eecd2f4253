//===- BuildOptimizer.cpp - parameter updates on flat arrays --------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Differentiation/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
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

/// The arrays are padded to a multiple of this many floats.
static constexpr int64_t lanes = 16;

namespace {
/// What one vector of the arrays holds before the update, and constants.
struct UpdateState {
  Value parameter, gradient, state0, state1;
  Value learningRate, weightDecay, beta1, beta2, epsilon;
  /// `1 - beta1^step` and `1 - beta2^step`.
  Value correction1, correction2;
};

/// Arithmetic on vectors of floats.
struct VectorMath {
  ImplicitLocOpBuilder &b;

  Value add(Value x, Value y) const { return arith::AddFOp::create(b, x, y); }
  Value sub(Value x, Value y) const { return arith::SubFOp::create(b, x, y); }
  Value mul(Value x, Value y) const { return arith::MulFOp::create(b, x, y); }
  Value div(Value x, Value y) const { return arith::DivFOp::create(b, x, y); }
  Value sqrt(Value x) const { return math::SqrtOp::create(b, x); }
  Value fma(Value x, Value y, Value z) const { return math::FmaOp::create(b, x, y, z); }
  Value constant(double value) const {
    auto type = VectorType::get(lanes, b.getF32Type());
    return arith::ConstantOp::create(b, DenseElementsAttr::get(type, static_cast<float>(value)));
  }
  /// `rate * old + (1 - rate) * x`.
  Value average(Value rate, Value old, Value x) const {
    return add(mul(rate, old), mul(sub(constant(1), rate), x));
  }
};
} // namespace

/// The update of one vector: returns the new parameters and changes the states
/// in `s`. The formulas are those of PyTorch's optimizers.
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

/// The step of Adam along `gradient`, from `parameter`.
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

namespace {
struct Optimizer {
  StringRef name;
  Update update;
  unsigned numStates;
};
} // namespace

static constexpr Optimizer optimizers[] = {{"sgd", updateSGD, 0},
                                           {"momentum", updateMomentum, 1},
                                           {"adam", updateAdam, 2},
                                           {"adamw", updateAdamW, 2},
                                           {"rmsprop", updateRMSprop, 1}};

/// Adds an empty function with arguments of the given types to `module`.
static func::FuncOp createFunction(ImplicitLocOpBuilder &b, ModuleOp module, StringRef name,
                                   TypeRange arguments) {
  b.setInsertionPointToEnd(module.getBody());
  auto function = func::FuncOp::create(b, name, b.getFunctionType(arguments, {}));
  b.setInsertionPointToStart(function.addEntryBlock());
  return function;
}

/// A loop over the vectors of `array`.
static scf::ForOp createLoop(ImplicitLocOpBuilder &b, Value array, ValueRange initial = {}) {
  Value zero = arith::ConstantIndexOp::create(b, 0);
  Value step = arith::ConstantIndexOp::create(b, lanes);
  Value size = memref::DimOp::create(b, array, zero);
  return scf::ForOp::create(b, zero, size, step, initial);
}

/// `1 - beta^step` in every lane, computed in f64.
static Value createCorrection(ImplicitLocOpBuilder &b, Value beta, Value step, Type type) {
  Value wideBeta = arith::ExtFOp::create(b, b.getF64Type(), beta);
  Value wideStep = arith::ExtFOp::create(b, b.getF64Type(), step);
  Value one = arith::ConstantOp::create(b, b.getF64FloatAttr(1));
  Value power = math::PowFOp::create(b, wideBeta, wideStep);
  Value correction = arith::SubFOp::create(b, one, power);
  correction = arith::TruncFOp::create(b, b.getF32Type(), correction);
  return vector::BroadcastOp::create(b, type, correction);
}

static void createUpdate(ImplicitLocOpBuilder &b, ModuleOp module, const Optimizer &optimizer) {
  auto vectorType = VectorType::get(lanes, b.getF32Type());
  Type array = MemRefType::get({ShapedType::kDynamic}, b.getF32Type());
  Type hyperType = MemRefType::get({8}, b.getF32Type());
  func::FuncOp function =
      createFunction(b, module, "update", {array, array, array, array, hyperType});
  ValueRange arrays = function.getArguments().take_front(4);
  SmallVector<Value> scalars;
  for (int64_t i = 0; i < 7; ++i)
    scalars.push_back(memref::LoadOp::create(b, function.getArgument(4),
                                             arith::ConstantIndexOp::create(b, i).getResult()));
  auto spread = [&](unsigned i) -> Value {
    return vector::BroadcastOp::create(b, vectorType, scalars[i]);
  };
  UpdateState s;
  s.learningRate = spread(0);
  s.weightDecay = spread(1);
  s.beta1 = spread(4);
  s.beta2 = spread(5);
  s.epsilon = spread(6);
  s.correction1 = createCorrection(b, scalars[4], scalars[2], vectorType);
  s.correction2 = createCorrection(b, scalars[5], scalars[2], vectorType);
  Value scale = spread(3);

  scf::ForOp loop = createLoop(b, arrays[0]);
  b.setInsertionPointToStart(loop.getBody());
  Value i = loop.getInductionVar();
  auto load = [&](unsigned array) -> Value {
    return vector::LoadOp::create(b, vectorType, arrays[array], i);
  };
  VectorMath math{b};
  s.parameter = load(0);
  s.gradient = math.mul(load(1), scale);
  if (optimizer.numStates > 0)
    s.state0 = load(2);
  if (optimizer.numStates > 1)
    s.state1 = load(3);
  Value parameter = optimizer.update(math, s);
  vector::StoreOp::create(b, parameter, arrays[0], i);
  if (optimizer.numStates > 0)
    vector::StoreOp::create(b, s.state0, arrays[2], i);
  if (optimizer.numStates > 1)
    vector::StoreOp::create(b, s.state1, arrays[3], i);
  b.setInsertionPointAfter(loop);
  func::ReturnOp::create(b);
}

/// The sum of squares in f64: one partial sum a lane, added in lane order.
static void createSumOfSquares(ImplicitLocOpBuilder &b, ModuleOp module) {
  auto narrow = VectorType::get(lanes, b.getF32Type());
  auto wide = VectorType::get(lanes, b.getF64Type());
  Type array = MemRefType::get({ShapedType::kDynamic}, b.getF32Type());
  func::FuncOp function =
      createFunction(b, module, "sumsq", {array, MemRefType::get({}, b.getF64Type())});
  Value zeros = arith::ConstantOp::create(b, b.getZeroAttr(wide));
  scf::ForOp loop = createLoop(b, function.getArgument(0), zeros);
  b.setInsertionPointToStart(loop.getBody());
  Value x = vector::LoadOp::create(b, narrow, function.getArgument(0), loop.getInductionVar());
  x = arith::ExtFOp::create(b, wide, x);
  Value sum = math::FmaOp::create(b, x, x, loop.getRegionIterArg(0));
  scf::YieldOp::create(b, sum);
  b.setInsertionPointAfter(loop);
  Value total = vector::ExtractOp::create(b, loop.getResult(0), 0);
  for (int64_t lane = 1; lane < lanes; ++lane)
    total = arith::AddFOp::create(b, total, vector::ExtractOp::create(b, loop.getResult(0), lane));
  memref::StoreOp::create(b, total, function.getArgument(1));
  func::ReturnOp::create(b);
}

namespace {
struct BuildOptimizerPass : bppsa::impl::BuildOptimizerBase<BuildOptimizerPass> {
  using BuildOptimizerBase::BuildOptimizerBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    auto found = llvm::find_if(
        optimizers, [&](const Optimizer &candidate) { return candidate.name == optimizer; });
    if (found == std::end(optimizers)) {
      module.emitError() << "unknown optimizer '" << optimizer
                         << "'; there are sgd, momentum, adam, adamw and rmsprop";
      return signalPassFailure();
    }
    ImplicitLocOpBuilder b(module.getLoc(), &getContext());
    createUpdate(b, module, *found);
    createSumOfSquares(b, module);
  }
};
} // namespace
