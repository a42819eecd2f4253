//===- SizeFormulas.cpp - sizes of memory as functions of symbols ---------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "SizeFormulas.h"
#include "bppsa/Dialect/BPPSA/IR/DiscardableAttributes.h"
#include "bppsa/Support/IndexArithmetic.h"
#include "mlir/Dialect/Affine/Utils.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace bppsa;

/// Returns nullopt for types other than integer, index and float.
static std::optional<int64_t> getElementBytes(MemRefType type) {
  Type element = type.getElementType();
  if (element.isIndex())
    return IndexType::kInternalStorageBitWidth / 8;
  if (!element.isIntOrFloat())
    return std::nullopt;
  return llvm::divideCeil(element.getIntOrFloatBitWidth(), 8);
}

int64_t bppsa::getFixedBytes(MemRefType type) {
  int64_t bytes = *getElementBytes(type);
  for (int64_t size : type.getShape())
    bytes *= ShapedType::isDynamic(size) ? 1 : size;
  return bytes;
}

Value bppsa::emitByteCount(OpBuilder &builder, Location loc, MemRefType type, ValueRange sizes) {
  Value bytes = getIndex(builder, loc, getFixedBytes(type));
  for (Value size : sizes)
    bytes = builder.createOrFold<arith::MulIOp>(loc, bytes, size);
  return bytes;
}

static AffineExpr getSymbolicSize(func::FuncOp function, BlockArgument argument, int64_t dim) {
  auto shape = attrs::Shape::ofArgument(function, argument.getArgNumber());
  return shape ? shape.getValue().getResult(dim) : AffineExpr();
}

SmallVector<Value> SizeFormulas::readSymbols(func::FuncOp function, OpBuilder &builder,
                                             unsigned count) {
  SmallVector<Value> symbols(count);
  for (BlockArgument argument : function.getArguments()) {
    auto type = dyn_cast<MemRefType>(argument.getType());
    for (int64_t dim = 0, rank = type ? type.getRank() : 0; dim < rank; ++dim) {
      AffineExpr size = getSymbolicSize(function, argument, dim);
      if (auto symbol = dyn_cast_or_null<AffineSymbolExpr>(size);
          symbol && symbol.getPosition() < count && !symbols[symbol.getPosition()])
        symbols[symbol.getPosition()] = getDim(builder, function.getLoc(), argument, dim);
    }
  }
  return symbols;
}

SizeFormulas::SizeFormulas(func::FuncOp function, OpBuilder &builder, ValueRange symbols)
    : function(function), builder(builder), loc(function.getLoc()), symbols(symbols) {}

Value SizeFormulas::emitProduct(ArrayRef<Value> factors) {
  if (llvm::is_contained(factors, Value()))
    return {};
  Value product = factors.front();
  for (Value factor : factors.drop_front())
    product = builder.createOrFold<arith::MulIOp>(loc, product, factor);
  return product;
}

Value SizeFormulas::emitBytes(memref::AllocOp allocation) {
  MemRefType type = allocation.getType();
  std::optional<int64_t> elementBytes = getElementBytes(type);
  if (!elementBytes || !type.getLayout().isIdentity())
    return {};
  // Constants come last for more common subexpressions.
  int64_t fixed = *elementBytes;
  SmallVector<Value> factors;
  for (auto [dim, size] : llvm::enumerate(type.getShape()))
    if (ShapedType::isDynamic(size))
      factors.push_back(emitSize(allocation, dim));
    else
      fixed *= size;
  factors.push_back(getIndex(builder, loc, fixed));
  return emitProduct(factors);
}

Value SizeFormulas::emit(OpFoldResult value) {
  if (auto constant = getConstantIntValue(value))
    return getIndex(builder, loc, *constant);
  return emit(cast<Value>(value));
}

Value SizeFormulas::emit(Value value) {
  if (auto found = emitted.find(value); found != emitted.end())
    return found->second;
  Operation *op = value.getDefiningOp();
  return emitted[value] = op ? emitOperation(op) : Value();
}

/// True if the result never decreases when a non-negative operand grows.
static bool isMonotone(Operation *op) {
  if (isa<arith::AddIOp, arith::MulIOp, arith::MinSIOp, arith::MinUIOp, arith::MaxSIOp,
          arith::MaxUIOp>(op))
    return true;
  return isa<arith::CeilDivSIOp, arith::CeilDivUIOp, arith::DivSIOp, arith::DivUIOp>(op) &&
         matchPattern(op->getOperand(1), m_Constant());
}

Value SizeFormulas::emitBound(Operation *op) {
  if (!isa<arith::MinSIOp, arith::MinUIOp>(op))
    return {};
  for (Value operand : op->getOperands())
    if (Value copy = emit(operand)) {
      bounds.insert(copy);
      return copy;
    }
  return {};
}

/// Returns null if `op` does not compute a scalar from symbols or is not speculatable.
Value SizeFormulas::emitOperation(Operation *op) {
  if (auto dim = dyn_cast<memref::DimOp>(op)) {
    std::optional<int64_t> index = dim.getConstantIndex();
    return index ? emitSize(dim.getSource(), *index) : Value();
  }
  bool always = op->getBlock() == &function.front();
  if (op->getNumResults() != 1 || op->getNumRegions() != 0 || !isMemoryEffectFree(op) ||
      !(always || isSpeculatable(op)) || !op->getResult(0).getType().isIntOrIndexOrFloat())
    return {};
  IRMapping mapping;
  bool isBound = false;
  for (Value operand : op->getOperands()) {
    Value copy = emit(operand);
    if (!copy)
      return emitBound(op);
    isBound |= bounds.contains(copy);
    mapping.map(operand, copy);
  }
  if (isBound && !isMonotone(op))
    return {};
  Value copy = builder.clone(*op, mapping)->getResult(0);
  if (isBound)
    bounds.insert(copy);
  return copy;
}

Value SizeFormulas::emitArgumentSize(BlockArgument argument, int64_t dim) {
  if (argument.getOwner()->getParentOp() != function)
    return {};
  AffineExpr size = getSymbolicSize(function, argument, dim);
  if (!size)
    return {};
  bool known = true;
  size.walk([&](AffineExpr part) {
    if (auto symbol = dyn_cast<AffineSymbolExpr>(part))
      known &= symbol.getPosition() < symbols.size() && symbols[symbol.getPosition()];
  });
  if (!known)
    return {};
  return affine::expandAffineExpr(builder, loc, size, /*dimValues=*/{}, symbols);
}

Value SizeFormulas::emitSubviewSize(memref::SubViewOp subview, int64_t dim) {
  llvm::SmallBitVector dropped = subview.getDroppedDims();
  for (auto [position, size] : llvm::enumerate(subview.getMixedSizes()))
    if (!dropped.test(position) && dim-- == 0)
      return emit(size);
  return {};
}

Value SizeFormulas::emitSize(Value array, int64_t dim) {
  auto type = dyn_cast<MemRefType>(array.getType());
  if (!type)
    return {};
  if (!type.isDynamicDim(dim))
    return getIndex(builder, loc, type.getDimSize(dim));
  if (auto argument = dyn_cast<BlockArgument>(array))
    return emitArgumentSize(argument, dim);
  Operation *op = array.getDefiningOp();
  if (auto allocation = dyn_cast<memref::AllocOp>(op))
    return emit(allocation.getDynamicSizes()[type.getDynamicDimIndex(dim)]);
  if (auto subview = dyn_cast<memref::SubViewOp>(op))
    return emitSubviewSize(subview, dim);
  if (auto cast = dyn_cast<memref::CastOp>(op))
    return emitSize(cast.getSource(), dim);
  if (auto cast = dyn_cast<memref::ReinterpretCastOp>(op))
    return emit(cast.getMixedSizes()[dim]);
  if (auto expand = dyn_cast<memref::ExpandShapeOp>(op))
    return emit(expand.getMixedOutputShape()[dim]);
  if (auto collapse = dyn_cast<memref::CollapseShapeOp>(op)) {
    SmallVector<Value> factors;
    ReassociationIndices sources = collapse.getReassociationIndices()[dim];
    for (int64_t source : sources)
      factors.push_back(emitSize(collapse.getSrc(), source));
    return emitProduct(factors);
  }
  return {};
}
