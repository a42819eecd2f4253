//===- RecurrentCells.cpp - one step of an RNN, GRU or LSTM ---------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// A layer becomes one `bppsa.recurrence` per direction, whose body is one step of one sample.
//
//===----------------------------------------------------------------------===//

#include "RecurrentCells.h"
#include "../Graph/Formula.h"
#include "bppsa/Dialect/BPPSA/IR/BPPSA.h"

using namespace mlir;
using namespace bppsa;

namespace {
class CellBuilder {
public:
  CellBuilder(OpBuilder &builder, Location loc, const CellArguments &arguments,
              const CellOptions &options)
      : b(builder), loc(loc), in(arguments), options(options),
        f{builder, loc, arguments.states.front().getType()} {}

  SmallVector<Value> buildRNN();
  SmallVector<Value> buildGRU();
  SmallVector<Value> buildLSTM();

private:
  Value multiply(Value matrix, Value vector, Value addend) {
    auto rows = cast<VectorType>(matrix.getType()).getDimSize(0);
    return MatVecOp::create(b, loc, VectorType::get(rows, b.getF32Type()), matrix, vector, addend,
                            /*transposed=*/nullptr);
  }
  Value project(unsigned gate) {
    return multiply(in.w[gate], in.x, in.bias.empty() ? Value() : in.bias[gate]);
  }
  Value preactivate(unsigned gate) { return multiply(in.r[gate], in.states[0], project(gate)); }
  Value preactivate(unsigned gate, Value state) {
    Value sum = preactivate(gate);
    return in.peepholes.empty() ? sum : f.add(sum, f.mul(in.peepholes[gate], state));
  }
  Value activate(unsigned index, Value x);
  Value activateClipped(unsigned index, Value x);

  OpBuilder &b;
  Location loc;
  const CellArguments &in;
  const CellOptions &options;
  Formula f;
};
} // namespace

Value CellBuilder::activate(unsigned index, Value x) {
  auto [name, alpha, beta] = options.activations[index];
  if (name == "Affine")
    return f.add(f.mul(x, f.constant(alpha)), f.constant(beta));
  if (name == "Elu")
    return f.elu(x, alpha);
  if (name == "HardSigmoid")
    return f.hardSigmoid(x, alpha, beta);
  if (name == "LeakyRelu")
    return f.leakyRelu(x, alpha);
  if (name == "Relu")
    return f.max(x, 0);
  if (name == "ScaledTanh")
    return f.mul(f.tanh(f.mul(x, f.constant(beta))), f.constant(alpha));
  if (name == "Sigmoid")
    return f.sigmoid(x);
  if (name == "Softplus")
    return f.softplus(x);
  if (name == "Softsign")
    return f.softsign(x);
  if (name == "ThresholdedRelu")
    return f.thresholdedRelu(x, alpha);
  assert(name == "Tanh" && "the table has no other activation");
  return f.tanh(x);
}

Value CellBuilder::activateClipped(unsigned index, Value x) {
  if (options.clip)
    x = f.min(f.max(x, -*options.clip), *options.clip);
  return activate(index, x);
}

SmallVector<Value> CellBuilder::buildRNN() { return {activateClipped(0, preactivate(0))}; }

/// Gates z r h:
///   z = f(Wz x + Rz h + bz)    r = f(Wr x + Rr h + br)
///   n = g(Wh x + Rh (r h) + bh), or g(Wh x + Wbh + r (Rh h + Rbh))
///   h' = (1 - z) n + z h
SmallVector<Value> CellBuilder::buildGRU() {
  Value h = in.states[0];
  Value z = activateClipped(0, preactivate(0));
  Value r = activateClipped(0, preactivate(1));
  Value sum = options.linearBeforeReset
                  ? f.add(f.mul(r, multiply(in.r[2], h, in.hiddenBias)), project(2))
                  : multiply(in.r[2], f.mul(r, h), project(2));
  Value n = activateClipped(1, sum);
  // n + z (h - n) saves one product.
  return {f.add(n, f.mul(z, f.sub(h, n)))};
}

/// Gates i o f c, with activations f for the gates, g for c and h for the state:
///   C' = f C + i g(c)    H' = o h(C')
/// Peepholes connect C to i and f, and C' to o. As in ONNX Runtime, `clip` does not apply to h.
SmallVector<Value> CellBuilder::buildLSTM() {
  Value c = in.states[1];
  Value i = activateClipped(0, preactivate(0, c));
  Value forget =
      options.inputForget ? f.sub(f.constant(1), i) : activateClipped(0, preactivate(2, c));
  Value candidate = activateClipped(1, preactivate(3));
  Value next = f.add(f.mul(forget, c), f.mul(i, candidate));
  Value o = activateClipped(0, preactivate(1, next));
  return {f.mul(o, activate(2, next)), next};
}

SmallVector<Value> bppsa::buildCell(StringRef op, OpBuilder &builder, Location loc,
                                    const CellArguments &arguments, const CellOptions &options) {
  CellBuilder cell(builder, loc, arguments, options);
  return op == "RNN" ? cell.buildRNN() : op == "GRU" ? cell.buildGRU() : cell.buildLSTM();
}

SmallVector<Value> bppsa::selectWithinLength(OpBuilder &builder, Location loc, Value mask,
                                             Value ones, ValueRange states, ValueRange before) {
  Formula f{builder, loc, states.front().getType()};
  // The product with a column of ones broadcasts the element; every lowering of a body supports it.
  Value spread = MatVecOp::create(builder, loc, f.type, ones, mask, /*addend=*/Value(),
                                  /*transposed=*/nullptr);
  Value isPart = f.isPositive(spread);
  SmallVector<Value> kept;
  for (auto [after, old] : llvm::zip_equal(states, before))
    kept.push_back(f.select(isPart, after, old));
  return kept;
}
