//===- VectorizeSums.cpp - vectorize sums of whole arrays -----------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "VectorBodies.h"
#include "bppsa/Codegen/CPU/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace bppsa {
#define GEN_PASS_DEF_VECTORIZESUMS
#include "bppsa/Codegen/CPU/Passes.h.inc"
} // namespace bppsa

using namespace mlir;
using namespace bppsa;

static bool isWhole(linalg::GenericOp op, OpOperand &operand) {
  auto type = dyn_cast<MemRefType>(operand.get().getType());
  return type && type.getRank() > 0 && type.getLayout().isIdentity() &&
         op.getMatchingIndexingMap(&operand).isIdentity();
}

static bool isNumber(OpOperand &operand) {
  auto type = dyn_cast<MemRefType>(operand.get().getType());
  return type && type.getRank() == 0;
}

static bool isTaken(linalg::GenericOp op, int64_t lanes) {
  if (!op.hasPureBufferSemantics() || op.getNumReductionLoops() != op.getNumLoops() ||
      op.getNumLoops() == 0 || op.hasIndexSemantics() || !hasElementwiseBody(op))
    return false;
  std::optional<Join> join = getJoin(op);
  if (!join || join->kind != vector::CombiningKind::ADD || !isNumber(op.getDpsInitsMutable()[0]))
    return false;
  SmallVector<int64_t> sizes = op.getStaticLoopRanges();
  bool isShort = !ShapedType::isDynamicShape(sizes) && ShapedType::getNumElements(sizes) < lanes;
  SmallVector<OpOperand *> inputs = op.getDpsInputOperands();
  auto whole = [&](OpOperand *input) { return isWhole(op, *input); };
  return !isShort && llvm::any_of(inputs, whole) &&
         llvm::all_of(inputs, [&](OpOperand *input) { return whole(input) || isNumber(*input); });
}

namespace {
/// Emits a sum over all elements of arrays: full vectors, then the remaining elements.
class SumLoops {
public:
  SumLoops(linalg::GenericOp op, int64_t lanes)
      : op(op), builder(op), loc(op.getLoc()), lanes(lanes), join(*getJoin(op)) {}

  void emit();

private:
  Value constant(int64_t value) { return arith::ConstantIndexOp::create(builder, loc, value); }
  void prepareInputs();
  Value addTerms(Value begin, Value end, int64_t width, Value start);
  Value makeTerm(Value index, int64_t width);

  linalg::GenericOp op;
  OpBuilder builder;
  Location loc;
  int64_t lanes;
  Join join;
  SmallVector<Value> inputs;
};
} // namespace

void SumLoops::prepareInputs() {
  for (OpOperand *input : op.getDpsInputOperands()) {
    Value value = input->get();
    int64_t rank = cast<MemRefType>(value.getType()).getRank();
    if (rank == 0)
      value = memref::LoadOp::create(builder, loc, value);
    else if (rank > 1)
      value = memref::CollapseShapeOp::create(
          builder, loc, value,
          SmallVector<ReassociationIndices>{llvm::to_vector(llvm::seq<int64_t>(0, rank))});
    inputs.push_back(value);
  }
}

Value SumLoops::makeTerm(Value index, int64_t width) {
  IRMapping mapping;
  for (auto [argument, input] : llvm::zip_equal(op.getRegionInputArgs(), inputs)) {
    auto type = dyn_cast<MemRefType>(input.getType());
    if (!type)
      mapping.map(argument, input);
    else if (width == 1)
      mapping.map(argument, memref::LoadOp::create(builder, loc, input, index).getResult());
    else
      mapping.map(argument, vector::LoadOp::create(builder, loc,
                                                   VectorType::get(width, type.getElementType()),
                                                   input, index)
                                .getResult());
  }
  for (Operation &inner : op.getBody()->without_terminator())
    if (&inner != join.op)
      cloneOnVectors(builder, inner, width, mapping);
  Value term = mapping.lookupOrDefault(join.term);
  return width == 1 ? term : spread(builder, term, width);
}

Value SumLoops::addTerms(Value begin, Value end, int64_t width, Value start) {
  auto loop = scf::ForOp::create(builder, loc, begin, end, constant(width), start);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(loop.getBody());
  Value term = makeTerm(loop.getInductionVar(), width);
  Value sum = arith::AddFOp::create(builder, loc, loop.getRegionIterArg(0), term);
  scf::YieldOp::create(builder, loc, sum);
  return loop.getResult(0);
}

void SumLoops::emit() {
  prepareInputs();
  Value array = *llvm::find_if(inputs, [](Value v) { return isa<MemRefType>(v.getType()); });
  Value size = memref::DimOp::create(builder, loc, array, constant(0));
  Value rest = arith::RemUIOp::create(builder, loc, size, constant(lanes));
  Value whole = arith::SubIOp::create(builder, loc, size, rest);
  auto vectorType = VectorType::get(lanes, join.term.getType());
  Value zeros = arith::ConstantOp::create(builder, loc, builder.getZeroAttr(vectorType));
  Value sums = addTerms(constant(0), whole, lanes, zeros);
  Value sum = vector::ReductionOp::create(builder, loc, vector::CombiningKind::ADD, sums,
                                          arith::FastMathFlags::reassoc);
  sum = addTerms(whole, size, 1, sum);
  Value result = op.getDpsInits()[0];
  Value before = memref::LoadOp::create(builder, loc, result);
  Value after = arith::AddFOp::create(builder, loc, before, sum);
  memref::StoreOp::create(builder, loc, after, result);
}

namespace {
struct VectorizeSums : public bppsa::impl::VectorizeSumsBase<VectorizeSums> {
  using VectorizeSumsBase::VectorizeSumsBase;

  void runOnOperation() override {
    int64_t lanes = getLanes(registers);
    SmallVector<linalg::GenericOp> ops;
    getOperation().walk([&](linalg::GenericOp op) {
      if (isTaken(op, lanes))
        ops.push_back(op);
    });
    for (linalg::GenericOp op : ops) {
      SumLoops(op, lanes).emit();
      op.erase();
    }
  }
};
} // namespace
