//===- ParallelToRuntime.cpp - parallel loops to run-time calls -----------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// Outlines parallel bodies into functions of an iteration range and calls the run time's
// parallel-for with a struct of captures.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Conversion/Passes.h"
#include "bppsa/Support/DescriptorFields.h"
#include "bppsa/Support/IndexArithmetic.h"
#include "bppsa/Support/RuntimeCalls.h"
#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Transforms/RegionUtils.h"

namespace bppsa {
#define GEN_PASS_DEF_CONVERTPARALLELTORUNTIME
#include "bppsa/Conversion/Passes.h.inc"
} // namespace bppsa

using namespace mlir;
using namespace bppsa;

/// See ObjectInterface.h.
static constexpr StringLiteral kParallelFor = "bppsa_rt_parallel_for";

static void makeSequential(scf::ParallelOp loop) {
  OpBuilder builder(loop);
  scf::LoopNest nest = scf::buildLoopNest(builder, loop.getLoc(), loop.getLowerBound(),
                                          loop.getUpperBound(), loop.getStep());
  Block *body = nest.loops.back().getBody();
  for (auto [from, to] : llvm::zip_equal(loop.getInductionVars(), nest.loops))
    from.replaceAllUsesWith(to.getInductionVar());
  loop.getBody()->getTerminator()->erase();
  body->getOperations().splice(std::prev(body->end()), loop.getBody()->getOperations());
  loop->erase();
}

/// Constants are cloned into the body for optimization.
static bool isCopied(Operation *op) {
  return op && (op->hasTrait<OpTrait::ConstantLike>() || isa<memref::GetGlobalOp>(op));
}

namespace {
class Captures {
public:
  Captures(ValueRange values, const LLVMTypeConverter &converter)
      : values(values), converter(converter) {
    SmallVector<Type> types;
    for (Value value : values)
      llvm::append_range(types, getWordTypes(value.getType(), converter));
    type = LLVM::LLVMStructType::getLiteral(&converter.getContext(), types);
  }

  /// The struct is on the stack of the function around `loop`.
  Value write(OpBuilder &builder, scf::ParallelOp loop) const;
  void read(OpBuilder &builder, Location loc, Value address, IRMapping &mapping) const;

private:
  Value getField(OpBuilder &builder, Location loc, Value address, int32_t number) const {
    return LLVM::GEPOp::create(builder, loc, address.getType(), type, address,
                               ArrayRef<LLVM::GEPArg>{0, number});
  }

  SmallVector<Value> values;
  const LLVMTypeConverter &converter;
  LLVM::LLVMStructType type;
};
} // namespace

Value Captures::write(OpBuilder &builder, scf::ParallelOp loop) const {
  Location loc = loop.getLoc();
  auto pointer = LLVM::LLVMPointerType::get(builder.getContext());
  if (values.empty())
    return LLVM::ZeroOp::create(builder, loc, pointer);
  Value address;
  {
    // Allocates once per call, even in a nested loop.
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(&loop->getParentOfType<func::FuncOp>().front());
    Value one = LLVM::ConstantOp::create(builder, loc, builder.getI64IntegerAttr(1));
    address = LLVM::AllocaOp::create(builder, loc, pointer, type, one);
  }
  int32_t number = 0;
  for (Value value : values)
    for (Value word : castToWords(builder, loc, value, converter))
      LLVM::StoreOp::create(builder, loc, word, getField(builder, loc, address, number++));
  return address;
}

void Captures::read(OpBuilder &builder, Location loc, Value address, IRMapping &mapping) const {
  int32_t number = 0;
  for (Value value : values) {
    SmallVector<Value> words;
    for (Type word : getWordTypes(value.getType(), converter))
      words.push_back(
          LLVM::LoadOp::create(builder, loc, word, getField(builder, loc, address, number++)));
    mapping.map(value, castFromWords(builder, loc, value.getType(), words));
  }
}

/// All iterations of a thread share the static buffers.
static void hoistBuffers(Region &body, func::FuncOp function) {
  SmallVector<memref::AllocaOp> buffers;
  body.walk([&](memref::AllocaOp buffer) {
    if (buffer.getDynamicSizes().empty() && !buffer->getParentOfType<memref::AllocaScopeOp>())
      buffers.push_back(buffer);
  });
  for (memref::AllocaOp buffer : buffers)
    buffer->moveBefore(&function.front(), function.front().begin());
}

static SmallVector<Value> getTripCounts(OpBuilder &builder, scf::ParallelOp loop) {
  Location loc = loop.getLoc();
  SmallVector<Value> counts;
  for (auto [lower, upper, step] :
       llvm::zip_equal(loop.getLowerBound(), loop.getUpperBound(), loop.getStep())) {
    // A range that ends before it begins is empty.
    Value last = builder.createOrFold<arith::MaxSIOp>(loc, lower, upper);
    Value distance = builder.createOrFold<arith::SubIOp>(loc, last, lower);
    counts.push_back(builder.createOrFold<arith::CeilDivUIOp>(loc, distance, step));
  }
  return counts;
}

/// Runs iterations [first, last) of `loop` in order; `counts` are trip counts.
static void fillFunction(func::FuncOp function, scf::ParallelOp loop, ArrayRef<Value> counts,
                         const Captures &captures, ArrayRef<Operation *> copied) {
  Location loc = loop.getLoc();
  Block *entry = function.addEntryBlock();
  OpBuilder builder = OpBuilder::atBlockBegin(entry);
  IRMapping mapping;
  captures.read(builder, loc, entry->getArgument(2), mapping);
  for (Operation *op : copied)
    builder.clone(*op, mapping);
  auto range = scf::ForOp::create(
      builder, loc,
      arith::IndexCastOp::create(builder, loc, builder.getIndexType(), entry->getArgument(0)),
      arith::IndexCastOp::create(builder, loc, builder.getIndexType(), entry->getArgument(1)),
      arith::ConstantIndexOp::create(builder, loc, 1));
  func::ReturnOp::create(builder, loc);

  builder.setInsertionPointToStart(range.getBody());
  SmallVector<Value> sizes =
      llvm::map_to_vector(counts, [&](Value count) { return mapping.lookupOrDefault(count); });
  SmallVector<Value> digits = splitIndex(builder, loc, range.getInductionVar(), sizes);
  for (auto [variable, digit, lower, step] :
       llvm::zip_equal(loop.getInductionVars(), digits, loop.getLowerBound(), loop.getStep())) {
    Value distance = builder.createOrFold<arith::MulIOp>(loc, digit, mapping.lookupOrDefault(step));
    mapping.map(variable,
                builder.createOrFold<arith::AddIOp>(loc, mapping.lookupOrDefault(lower), distance));
  }
  for (Operation &op : loop.getBody()->without_terminator())
    builder.clone(op, mapping);
  hoistBuffers(range.getRegion(), function);
}

static void convertLoop(scf::ParallelOp loop, SymbolTable &symbols,
                        const LLVMTypeConverter &converter, func::FuncOp runtime) {
  OpBuilder builder(loop);
  Location loc = loop.getLoc();
  SmallVector<Value> counts = getTripCounts(builder, loop);
  SetVector<Value> used;
  getUsedValuesDefinedAbove(loop.getRegion(), used);
  used.insert_range(loop.getLowerBound());
  used.insert_range(loop.getStep());
  used.insert_range(ArrayRef(counts).drop_front());
  SmallVector<Value> given;
  SetVector<Operation *> copied;
  for (Value value : used)
    if (isCopied(value.getDefiningOp()))
      copied.insert(value.getDefiningOp());
    else
      given.push_back(value);
  Captures captures(given, converter);

  Type i64 = builder.getI64Type(), pointer = LLVM::LLVMPointerType::get(builder.getContext());
  auto parent = loop->getParentOfType<func::FuncOp>();
  auto type = builder.getFunctionType({i64, i64, pointer}, {});
  auto body = func::FuncOp::create(loc, (parent.getName() + "_body").str(), type);
  body.setPrivate();
  symbols.insert(body, parent->getIterator());
  fillFunction(body, loop, counts, captures, copied.getArrayRef());

  Value total = counts.front();
  for (Value count : ArrayRef(counts).drop_front())
    total = builder.createOrFold<arith::MulIOp>(loc, total, count);
  Value address = func::ConstantOp::create(builder, loc, type, body.getName());
  func::CallOp::create(
      builder, loc, runtime,
      ValueRange{arith::IndexCastOp::create(builder, loc, i64, total),
                 UnrealizedConversionCastOp::create(builder, loc, pointer, address).getResult(0),
                 captures.write(builder, loop)});
  loop->erase();
}

namespace {
struct ConvertParallelToRuntime
    : public bppsa::impl::ConvertParallelToRuntimeBase<ConvertParallelToRuntime> {
  void runOnOperation() override {
    SmallVector<scf::ParallelOp> outer, nested;
    WalkResult result = getOperation().walk([&](scf::ParallelOp loop) {
      if (loop.getNumResults() > 0) {
        loop.emitOpError(
            "is a reduction, which the run time's parallel loop does not support; use scf.for");
        return WalkResult::interrupt();
      }
      (loop->getParentOfType<scf::ParallelOp>() ? nested : outer).push_back(loop);
      return WalkResult::advance();
    });
    if (result.wasInterrupted())
      return signalPassFailure();
    for (scf::ParallelOp loop : nested)
      makeSequential(loop);
    if (outer.empty())
      return;
    LLVMTypeConverter converter(&getContext());
    Type pointer = LLVM::LLVMPointerType::get(&getContext());
    Type inputs[] = {IntegerType::get(&getContext(), 64), pointer, pointer};
    func::FuncOp runtime = declareRuntimeFunction(getOperation(), kParallelFor, inputs, {});
    SymbolTable symbols(getOperation());
    for (scf::ParallelOp loop : outer)
      convertLoop(loop, symbols, converter, runtime);
  }
};
} // namespace
