//===- BGPUDialect.cpp - the bgpu dialect ---------------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/CostModel/Machines/DeviceShapes.h"
#include "bppsa/Dialect/BGPU/IR/BGPU.h"
#include "bppsa/Support/IndexArithmetic.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/DialectImplementation.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace bppsa;
using namespace bppsa::bgpu;

#include "bppsa/Dialect/BGPU/IR/BGPUDialect.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "bppsa/Dialect/BGPU/IR/BGPUAttributes.cpp.inc"

#define GET_OP_CLASSES
#include "bppsa/Dialect/BGPU/IR/BGPUOps.cpp.inc"

void BGPUDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "bppsa/Dialect/BGPU/IR/BGPUAttributes.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "bppsa/Dialect/BGPU/IR/BGPUOps.cpp.inc"
      >();
}

bool bppsa::bgpu::areInWarp(int64_t threads) {
  return threads > 1 && threads <= cost::kWarpThreads && llvm::isPowerOf2_64(threads);
}

LogicalResult ReplicatedAttr::verify(function_ref<InFlightDiagnostic()> emitError, int64_t count) {
  if (!areInWarp(count))
    return emitError()
           << "needs a power of two from 2 to 32 of threads that have an element, but has "
           << count;
  return success();
}

MemRefType bppsa::bgpu::getSharedType(ArrayRef<int64_t> shape, Type element) {
  auto space = gpu::AddressSpaceAttr::get(element.getContext(), gpu::AddressSpace::Workgroup);
  return MemRefType::get(shape, element, MemRefLayoutAttrInterface(), space);
}

Value bppsa::bgpu::getRingSlot(OpBuilder &builder, Location loc, Value position, int64_t count) {
  return arith::AndIOp::create(builder, loc, position, getIndex(builder, loc, count - 1));
}

int64_t bppsa::bgpu::getReplicas(RankedTensorType tile) {
  auto layout = dyn_cast_or_null<ReplicatedAttr>(tile.getEncoding());
  return layout ? layout.getCount() : 1;
}

RankedTensorType bppsa::bgpu::getTileType(ArrayRef<int64_t> shape, Type element, int64_t replicas) {
  Attribute layout;
  if (replicas > 1)
    layout = ReplicatedAttr::get(element.getContext(), replicas);
  return RankedTensorType::get(shape, element, layout);
}

int64_t bppsa::bgpu::countThreads(RankedTensorType tile) {
  return tile.getNumElements() * getReplicas(tile);
}

void KernelOp::build(OpBuilder &builder, OperationState &state, Value numBlocks, int64_t threads,
                     function_ref<void(OpBuilder &, Value)> emitBody) {
  OpBuilder::InsertionGuard guard(builder);
  state.addOperands(numBlocks);
  state.addAttribute(getThreadsAttrName(state.name), builder.getI64IntegerAttr(threads));
  Block *body = builder.createBlock(state.addRegion(), {}, builder.getIndexType(), state.location);
  emitBody(builder, body->getArgument(0));
}

ParseResult KernelOp::parse(OpAsmParser &parser, OperationState &state) {
  OpAsmParser::Argument block;
  block.type = parser.getBuilder().getIndexType();
  OpAsmParser::UnresolvedOperand numBlocks;
  int64_t threads;
  if (parser.parseKeyword("blocks") || parser.parseLParen() || parser.parseArgument(block) ||
      parser.parseKeyword("in") || parser.parseOperand(numBlocks) || parser.parseRParen() ||
      parser.resolveOperand(numBlocks, block.type, state.operands) ||
      parser.parseKeyword("threads") || parser.parseLParen() || parser.parseInteger(threads) ||
      parser.parseRParen() || parser.parseRegion(*state.addRegion(), block))
    return failure();
  state.addAttribute(getThreadsAttrName(state.name),
                     parser.getBuilder().getI64IntegerAttr(threads));
  return parser.parseOptionalAttrDict(state.attributes);
}

void KernelOp::print(OpAsmPrinter &printer) {
  printer << " blocks(" << getBody().getArgument(0) << " in " << getNumBlocks() << ") threads("
          << getThreads() << ") ";
  printer.printRegion(getBody(), /*printEntryBlockArgs=*/false);
  printer.printOptionalAttrDict((*this)->getAttrs(), getThreadsAttrName().getValue());
}

static Type findLargeTile(KernelOp kernel) {
  Type large;
  auto isLarge = [&](RankedTensorType tile) {
    return !tile.hasStaticShape() || countThreads(tile) > static_cast<int64_t>(kernel.getThreads());
  };
  kernel.getBody().walk([&](Operation *op) {
    SmallVector<Type> types(op->getResultTypes());
    if (auto each = dyn_cast<ForEachOp>(op))
      types.push_back(each.getPositions());
    for (Type type : types)
      if (auto tile = dyn_cast<RankedTensorType>(type); tile && isLarge(tile))
        large = tile;
    return large ? WalkResult::interrupt() : WalkResult::advance();
  });
  return large;
}

LogicalResult KernelOp::verifyRegions() {
  if (getThreads() < 1 || getThreads() > cost::kMaxThreads)
    return emitOpError("has ") << getThreads() << " threads; a block has 1 to "
                               << cost::kMaxThreads;
  if (getManyBlocks() && getThreads() != cost::kWarpThreads)
    return emitOpError("has many_blocks, which are of ")
           << cost::kWarpThreads << " threads each, but has " << getThreads();
  if (getBody().getNumArguments() != 1 || !getBody().getArgument(0).getType().isIndex())
    return emitOpError("needs one argument of type index in its body, the number of the block");
  if (Type tile = findLargeTile(*this))
    return emitOpError("has ") << getThreads() << " threads, but a tile of type " << tile
                               << "; use one thread per element";
  return success();
}

static RankedTensorType withRows(ShapedType tile, int64_t rows) {
  SmallVector<int64_t> shape(tile.getShape());
  shape[0] = rows;
  auto tensor = dyn_cast<RankedTensorType>(tile);
  return RankedTensorType::get(shape, tile.getElementType(),
                               tensor ? tensor.getEncoding() : Attribute());
}

static LogicalResult verifyRows(Operation *op, Type tileType, Type bufferType, int64_t first) {
  auto tile = cast<RankedTensorType>(tileType).dropEncoding();
  auto buffer = cast<MemRefType>(bufferType);
  if (!gpu::GPUDialect::hasWorkgroupMemoryAddressSpace(buffer))
    return op->emitOpError("needs an array in shared memory, but has ") << buffer;
  if (tile.getRank() == 0 || tile.getRank() != buffer.getRank() ||
      tile != withRows(buffer, tile.getDimSize(0)))
    return op->emitOpError("needs a tile that is rows of ") << buffer << ", but has " << tile;
  int64_t end = first + tile.getDimSize(0);
  if (first < 0 || end > buffer.getDimSize(0))
    return op->emitOpError("has rows ")
           << first << " to " << end - 1 << " of an array of " << buffer.getDimSize(0);
  return success();
}

LogicalResult GetOp::verify() {
  return verifyRows(*this, getResult().getType(), getBuffer().getType(), getFirst());
}

LogicalResult PutOp::verify() {
  return verifyRows(*this, getTile().getType(), getBuffer().getType(), getFirst());
}

int64_t AccumulateOp::getNumParts() {
  auto tile = cast<RankedTensorType>(getTile().getType());
  return tile.getRank() == 2 ? tile.getDimSize(1) : 1;
}

int64_t AccumulateOp::getNumColumns() {
  auto array = cast<MemRefType>(getArray().getType());
  return array.getRank() == 2 ? array.getDimSize(0) : 1;
}

LogicalResult AccumulateOp::verify() {
  auto tile = cast<RankedTensorType>(getTile().getType());
  auto array = cast<MemRefType>(getArray().getType());
  if (gpu::GPUDialect::hasWorkgroupMemoryAddressSpace(array))
    return emitOpError("needs an array in device memory, but has ") << array;
  if (!isa<FloatType>(array.getElementType()) || array.getRank() < 1 || array.getRank() > 2)
    return emitOpError("needs a vector or matrix of floating-point elements, but has ") << array;
  int64_t rows = array.getShape().back();
  if (array.getRank() == 1) {
    if (tile.dropEncoding() != RankedTensorType::get(rows, array.getElementType()))
      return emitOpError("needs a tile of the elements of ") << array << ", but has " << tile;
    return success();
  }
  int64_t columns = llvm::divideCeil(getNumColumns(), getNumParts());
  SmallVector<int64_t> shape = {rows};
  if (tile.getRank() == 2)
    shape.push_back(getNumParts());
  auto own = RankedTensorType::get(shape, VectorType::get(columns, array.getElementType()));
  if (tile != own)
    return emitOpError("needs a tile of type ")
           << own << ", the columns of " << array << " that each thread of a row has, but has "
           << tile;
  return success();
}

MemRefType ShareOp::getArrayType(RankedTensorType tile) {
  return getSharedType(tile.getShape(), tile.getElementType());
}

void ShareOp::build(OpBuilder &, OperationState &state, Value tile) {
  state.addOperands(tile);
  state.addTypes(getArrayType(cast<RankedTensorType>(tile.getType())));
}

MemRefType FetchOp::getVectorType(MemRefType array) {
  if (array.getRank() == 0)
    return array;
  auto [strides, offset] = array.getStridesAndOffset();
  auto layout = StridedLayoutAttr::get(array.getContext(), ShapedType::kDynamic, strides.back());
  return MemRefType::get(array.getShape().back(), array.getElementType(), layout,
                         array.getMemorySpace());
}

void FetchOp::build(OpBuilder &builder, OperationState &state, Value array, ValueRange position,
                    int64_t stages) {
  state.addOperands(array);
  state.addOperands(position);
  state.addAttribute(getStagesAttrName(state.name), builder.getI64IntegerAttr(stages));
  state.addTypes(getVectorType(cast<MemRefType>(array.getType())));
}

LogicalResult FetchOp::verify() {
  auto array = cast<MemRefType>(getArray().getType());
  int64_t rank = array.getRank(), given = getPosition().size();
  if (rank != given + 1 || array.isDynamicDim(rank - 1))
    return emitOpError("needs an array of vectors of static size and an index for each other "
                       "dimension, but has ")
           << given << " indices into " << array;
  if (array.getElementTypeBitWidth() != 32)
    return emitOpError("copies elements of 32 bits, but has ") << array;
  if (getStages() < 2 || !llvm::isPowerOf2_64(getStages()))
    return emitOpError("has ") << getStages() << " stages, which must be a power of two above 1";
  if (!isa<scf::ForOp>((*this)->getParentOp()))
    return emitOpError("must be in an scf.for, because it prefetches for later iterations");
  return success();
}

LogicalResult GridBarrierOp::verify() {
  MemRefType type = getCounters().getType();
  if (gpu::GPUDialect::hasWorkgroupMemoryAddressSpace(type) || type.isDynamicDim(1) ||
      !type.getLayout().isIdentity())
    return emitOpError("needs counters in rows of static size in device memory, but has ") << type;
  return success();
}

void ForEachOp::build(OpBuilder &builder, OperationState &state, ArrayRef<int64_t> shape,
                      ValueRange tiles,
                      function_ref<void(OpBuilder &, ValueRange, ValueRange)> emitBody,
                      int64_t replicas) {
  auto emitAll = [&](OpBuilder &nested, ValueRange indices, ValueRange elements) {
    emitBody(nested, indices, elements);
    return SmallVector<Value>();
  };
  build(builder, state, shape, tiles, TypeRange(), emitAll, replicas);
}

void ForEachOp::build(
    OpBuilder &builder, OperationState &state, ArrayRef<int64_t> shape, ValueRange tiles,
    TypeRange elements,
    function_ref<SmallVector<Value>(OpBuilder &, ValueRange, ValueRange)> emitBody,
    int64_t replicas) {
  OpBuilder::InsertionGuard guard(builder);
  state.addOperands(tiles);
  state.addAttribute(getShapeAttrName(state.name), builder.getDenseI64ArrayAttr(shape));
  state.addAttribute(getReplicasAttrName(state.name), builder.getI64IntegerAttr(replicas));
  for (Type element : elements)
    state.addTypes(getTileType(shape, element, replicas));
  SmallVector<Type> types(shape.size(), builder.getIndexType());
  for (Value tile : tiles)
    types.push_back(cast<RankedTensorType>(tile.getType()).getElementType());
  SmallVector<Location> locs(types.size(), state.location);
  Block *body = builder.createBlock(state.addRegion(), {}, types, locs);
  ValueRange arguments = body->getArguments();
  SmallVector<Value> made =
      emitBody(builder, arguments.take_front(shape.size()), arguments.drop_front(shape.size()));
  YieldOp::create(builder, state.location, made);
}

RankedTensorType ForEachOp::getPositions() {
  return getTileType(getShape(), IndexType::get(getContext()), getReplicas());
}

/// True if `tile` has one element per row of `each`, replicated in all threads of the row.
static bool isOfRows(RankedTensorType tile, ForEachOp each) {
  ArrayRef<int64_t> shape = each.getShape();
  return each.getReplicas() == 1 && shape.size() > 1 && tile.getShape() == shape.drop_back() &&
         bppsa::bgpu::getReplicas(tile) == shape.back();
}

LogicalResult ForEachOp::verify() {
  int64_t replicas = getReplicas();
  if (replicas != 1 && !areInWarp(replicas))
    return emitOpError("needs a power of two up to 32 of threads that have a position, but has ")
           << replicas;
  SmallVector<Type> types(getOutputs().getTypes());
  for (Type type : getTiles().getTypes())
    if (!isOfRows(cast<RankedTensorType>(type), *this))
      types.push_back(type);
  for (Type type : types) {
    auto tile = cast<RankedTensorType>(type);
    if (tile.getShape() != getShape())
      return emitOpError("has a tile of type ")
             << tile << ", but runs a body for each element of [" << getShape() << "]";
    if (bgpu::getReplicas(tile) != replicas)
      return emitOpError("has a tile of type ")
             << tile << ", but has each position in " << replicas << " threads; give both the same";
  }
  return success();
}

LogicalResult ForEachOp::verifyRegions() {
  SmallVector<Type> types(getShape().size(), IndexType::get(getContext()));
  for (Type tile : getTiles().getTypes())
    types.push_back(getElementTypeOrSelf(tile));
  if (TypeRange(getBody().getArgumentTypes()) != TypeRange(types))
    return emitOpError("needs an index for each of ")
           << getShape().size()
           << " dimensions and an element of each tile as arguments of its body";
  auto elements = llvm::map_to_vector(getOutputs().getTypes(),
                                      [](Type tile) { return getElementTypeOrSelf(tile); });
  if (getBody().front().getTerminator()->getOperandTypes() != TypeRange(elements))
    return emitOpError("needs a body that yields an element of each of its ")
           << elements.size() << " results";
  return success();
}
