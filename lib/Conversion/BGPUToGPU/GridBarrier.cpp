//===- GridBarrier.cpp - a barrier of several blocks ----------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// Block barriers order all threads of a block with its first thread, whose fence and acquire load
// order them with other blocks.
//
//===----------------------------------------------------------------------===//

#include "../../Codegen/GPU/Launch.h"
#include "ThreadEmitter.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace bppsa;

static constexpr StringLiteral kDevice = "device";

static Value getAddress(OpBuilder &builder, Location loc, Value counters, Value index) {
  auto type = cast<MemRefType>(counters.getType());
  Value base = memref::ExtractAlignedPointerAsIndexOp::create(builder, loc, counters);
  int64_t bytes = type.getDimSize(1) * type.getElementTypeBitWidth() / 8;
  Value offset = mulIndex(builder, loc, index, getIndex(builder, loc, bytes));
  Value address = arith::IndexCastOp::create(builder, loc, builder.getI64Type(),
                                             addIndex(builder, loc, base, offset));
  auto global = LLVM::LLVMPointerType::get(builder.getContext(),
                                           static_cast<unsigned>(NVVM::NVVMMemorySpace::Global));
  return LLVM::IntToPtrOp::create(builder, loc, global, address);
}

static void emitWait(OpBuilder &builder, Location loc, Value counter, Value count) {
  auto loop = scf::WhileOp::create(builder, loc, TypeRange(), ValueRange());
  OpBuilder test = OpBuilder::atBlockBegin(builder.createBlock(&loop.getBefore()));
  Value found =
      LLVM::LoadOp::create(test, loc, builder.getI32Type(), counter, /*alignment=*/4,
                           /*isVolatile=*/false, /*isNonTemporal=*/false, /*isInvariant=*/false,
                           /*isInvariantGroup=*/false, LLVM::AtomicOrdering::acquire, kDevice);
  scf::ConditionOp::create(test, loc, isBelow(test, loc, found, count), ValueRange());
  OpBuilder again = OpBuilder::atBlockBegin(builder.createBlock(&loop.getAfter()));
  scf::YieldOp::create(again, loc);
}

void ThreadEmitter::emitGridBarrier(OpBuilder &builder, bgpu::GridBarrierOp op) {
  Location loc = op.getLoc();
  auto get = [&](Value value) { return values.lookupOrDefault(value); };
  emitBarrier(builder, loc);
  Value isFirst = isEqual(builder, loc, thread, getIndex(builder, loc, 0));
  emitIf(builder, loc, isFirst, [&](OpBuilder &nested) {
    Value counter = getAddress(nested, loc, get(op.getCounters()), get(op.getGroup()));
    Value one = arith::ConstantOp::create(nested, loc, nested.getI32IntegerAttr(1));
    // NVPTX drops the ordering of read-modify-write operations, so a fence is needed.
    LLVM::FenceOp::create(nested, loc, LLVM::AtomicOrdering::acq_rel, kDevice);
    LLVM::AtomicRMWOp::create(nested, loc, LLVM::AtomicBinOp::add, counter, one,
                              LLVM::AtomicOrdering::monotonic, kDevice);
    OpBuilder::InsertionGuard guard(nested);
    emitWait(nested, loc, counter, get(op.getCount()));
  });
  emitBarrier(builder, loc);
}
