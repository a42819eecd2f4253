//===- Launch.cpp - launches of thread blocks -----------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "Launch.h"
#include "bppsa/Dialect/BPPSA/IR/BPPSA.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace bppsa;

/// Threads per block if threads are independent.
static constexpr int64_t kIndependentThreads = 128;

Value bppsa::isBelow(OpBuilder &builder, Location loc, Value a, Value b) {
  return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ult, a, b);
}

Value bppsa::isEqual(OpBuilder &builder, Location loc, Value a, Value b) {
  return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, a, b);
}

SmallVector<Value> bppsa::moveIndices(OpBuilder &builder, Location loc, Value moves,
                                      ValueRange indices, ValueRange strides) {
  Value zero = getIndex(builder, loc, 0);
  SmallVector<Value> next;
  for (auto [index, stride] : llvm::zip_equal(indices, strides)) {
    Value way = arith::SelectOp::create(builder, loc, moves, stride, zero);
    next.push_back(addIndex(builder, loc, index, way));
  }
  return next;
}

Value bppsa::addPartials(OpBuilder &builder, Location loc, SmallVector<Value> partials) {
  while (partials.size() > 1) {
    size_t half = llvm::divideCeil(partials.size(), 2);
    for (size_t i = 0; i + half < partials.size(); ++i)
      partials[i] = arith::AddFOp::create(builder, loc, partials[i], partials[i + half]);
    partials.resize(half);
  }
  return partials.front();
}

void bppsa::emitIf(OpBuilder &builder, Location loc, Value condition,
                   function_ref<void(OpBuilder &)> then) {
  scf::IfOp::create(builder, loc, condition, [&](OpBuilder &nested, Location) {
    then(nested);
    scf::YieldOp::create(nested, loc);
  });
}

void bppsa::emitIfWithin(OpBuilder &builder, Location loc, Value position, int64_t first,
                         int64_t count, function_ref<void(OpBuilder &, Value)> body) {
  // Positions before the first one wrap around to large values.
  Value inside = arith::SubIOp::create(builder, loc, position, getIndex(builder, loc, first));
  emitIf(builder, loc, isBelow(builder, loc, inside, getIndex(builder, loc, count)),
         [&](OpBuilder &nested) { body(nested, inside); });
}

SmallVector<Value>
bppsa::emitFold(OpBuilder &builder, Location loc, Value lower, Value upper, ValueRange values,
                function_ref<SmallVector<Value>(OpBuilder &, Value, ValueRange)> body) {
  auto loop = scf::ForOp::create(builder, loc, lower, upper, getIndex(builder, loc, 1), values);
  OpBuilder nested = OpBuilder::atBlockBegin(loop.getBody());
  SmallVector<Value> next = body(nested, loop.getInductionVar(), loop.getRegionIterArgs());
  if (!values.empty())
    scf::YieldOp::create(nested, loc, next);
  return llvm::to_vector_of<Value>(loop.getResults());
}

void bppsa::emitLoop(OpBuilder &builder, Location loc, Value lower, Value upper,
                     function_ref<void(OpBuilder &, Value)> body) {
  emitFold(builder, loc, lower, upper, {}, [&](OpBuilder &nested, Value iv, ValueRange) {
    body(nested, iv);
    return SmallVector<Value>();
  });
}

static std::pair<FlatSymbolRefAttr, FlatSymbolRefAttr> nameKernel(OpBuilder &builder) {
  auto function = builder.getBlock()->getParent()->getParentOfType<func::FuncOp>();
  int64_t number = 0;
  function.walk([&](gpu::LaunchOp) { ++number; });
  std::string name = function.getName().str();
  if (number > 0)
    name += "_" + std::to_string(number);
  MLIRContext *context = builder.getContext();
  return {FlatSymbolRefAttr::get(context, "device"), FlatSymbolRefAttr::get(context, name)};
}

void bppsa::emitLaunch(OpBuilder &builder, Location loc, Value numBlocks, int64_t numThreads,
                       ArrayRef<MemRefType> shared,
                       function_ref<void(OpBuilder &, const LaunchedThread &)> body) {
  auto space = gpu::AddressSpaceAttr::get(builder.getContext(), gpu::AddressSpace::Workgroup);
  SmallVector<Type> types;
  for (MemRefType type : shared)
    types.push_back(MemRefType::get(type.getShape(), type.getElementType(),
                                    MemRefLayoutAttrInterface(), space));
  Value one = getIndex(builder, loc, 1), threads = getIndex(builder, loc, numThreads);
  auto [module, name] = nameKernel(builder);
  auto launch = gpu::LaunchOp::create(
      builder, loc, numBlocks, one, one, threads, one, one, /*dynamicSharedMemorySize=*/Value(),
      /*asyncTokenType=*/Type(), /*asyncDependencies=*/{}, types, /*privateAttributions=*/{},
      /*clusterSizeX=*/Value(), Value(), Value(), module, name);
  OpBuilder nested = OpBuilder::atBlockBegin(&launch.getBody().front());
  auto arrays = llvm::to_vector_of<Value>(launch.getWorkgroupAttributions());
  body(nested, {launch.getBlockIds().x, launch.getThreadIds().x, numThreads, arrays});
  gpu::TerminatorOp::create(nested, loc);
}

void bppsa::emitForEachThread(OpBuilder &builder, Location loc, Value count,
                              function_ref<void(OpBuilder &, Value)> body) {
  Value size = getIndex(builder, loc, kIndependentThreads);
  Value numBlocks = arith::CeilDivUIOp::create(builder, loc, count, size);
  emitLaunch(builder, loc, numBlocks, kIndependentThreads, {},
             [&](OpBuilder &nested, const LaunchedThread &thread) {
               Value size = getIndex(nested, loc, kIndependentThreads);
               Value number =
                   addIndex(nested, loc, mulIndex(nested, loc, thread.block, size), thread.thread);
               emitIf(nested, loc, isBelow(nested, loc, number, count),
                      [&](OpBuilder &inside) { body(inside, number); });
             });
}

void bppsa::emitBarrier(OpBuilder &builder, Location loc) { gpu::BarrierOp::create(builder, loc); }

void bppsa::emitWarpBarrier(OpBuilder &builder, Location loc) {
  Value wholeWarp = arith::ConstantOp::create(builder, loc, builder.getI32IntegerAttr(-1));
  NVVM::SyncWarpOp::create(builder, loc, wholeWarp);
}

Value bppsa::emitButterfly(OpBuilder &builder, Location loc, Value value, int64_t offset) {
  auto constant = [&](int64_t number) -> Value {
    return arith::ConstantOp::create(builder, loc, builder.getI32IntegerAttr(number));
  };
  return gpu::ShuffleOp::create(builder, loc, value, constant(offset), constant(kWarpThreads),
                                gpu::ShuffleMode::XOR)
      .getShuffleResult();
}
