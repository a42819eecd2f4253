//===- ChainExtraction.cpp - extract chains from IR -----------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/CostModel/ChainExtraction.h"
#include "bppsa/Dialect/BPPSA/Analysis/LinearForm.h"
#include "bppsa/Dialect/BPPSA/Analysis/StepJacobian.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace bppsa;

static int64_t countBodyFlops(ValueRange roots) {
  llvm::SetVector<Operation *> needed;
  for (Value root : roots)
    if (Operation *op = root.getDefiningOp())
      needed.insert(op);
  int64_t flops = 0;
  for (size_t i = 0; i < needed.size(); ++i) {
    if (auto cell = dyn_cast<CellOpInterface>(needed[i]))
      flops += cell.countFlops();
    for (Value operand : needed[i]->getOperands())
      if (Operation *op = operand.getDefiningOp())
        needed.insert(op);
  }
  return flops;
}

static int64_t getNumBytes(TypeRange types) {
  int64_t bytes = 0;
  for (Type type : types)
    if (auto shaped = dyn_cast<ShapedType>(type))
      bytes += shaped.getNumElements() * shaped.getElementTypeBitWidth() / 8;
  return bytes;
}

int64_t bppsa::getNumElements(Type type) {
  auto shaped = dyn_cast<ShapedType>(type);
  return shaped ? shaped.getNumElements() : 1;
}

int64_t bppsa::getNumElements(TypeRange types) {
  int64_t count = 0;
  for (Type type : types)
    count += getNumElements(type);
  return count;
}

RegionCost bppsa::getRegionCost(ChainOp loop) {
  Block &body = loop.getBody().front();
  size_t numStates = loop.getSeeds().size(), numSaved = loop.getSaved().size();
  ValueRange yielded = body.getTerminator()->getOperands();
  RegionCost cost;
  cost.stateFlops = countBodyFlops(yielded.take_front(numStates));
  cost.emitFlops = countBodyFlops(yielded.drop_front(numStates));
  cost.fullFlops = countBodyFlops(yielded);
  if (std::optional<LinearForm> form = LinearForm::get(loop)) {
    SmallVector<int64_t> sizes;
    for (BlockArgument state : body.getArguments().slice(numSaved, numStates))
      sizes.push_back(cast<VectorType>(state.getType()).getNumElements());
    cost.factoredFlops = form->countEntryFlops(sizes) +
                         countBodyFlops(form->scales->front().getTerminator()->getOperands());
  }
  TypeRange arguments = body.getArgumentTypes();
  cost.savedBytes = getNumBytes(arguments.take_front(numSaved));
  cost.captureBytes = getNumBytes(arguments.drop_front(numSaved + numStates));
  cost.emittedBytes = getNumBytes(yielded.drop_front(numStates).getTypes());
  return cost;
}

static int64_t getBatch(int64_t known, const DynamicSizes &sizes) {
  return ShapedType::isDynamic(known) ? std::max<int64_t>(sizes.batch, 1) : known;
}

static MatrixStructure getStructure(jacobian::MatrixType type) {
  return MatrixStructure(type.getStructure(), type.getRows(), type.getCols(), !type.getBatch());
}

static MatrixStructure getMapStructure(Operation *loop, int64_t size) {
  jacobian::MatrixType type = inferStepJacobian(loop);
  jacobian::StructureKind kind = type && type.getStructure().isDiagonal()
                                     ? jacobian::StructureKind::Diagonal
                                     : jacobian::StructureKind::Dense;
  return MatrixStructure(jacobian::StructureAttr::get(loop->getContext(), kind), size, size);
}

FailureOr<LinkChain> bppsa::getLinkChain(ChainOp loop, const DynamicSizes &sizes) {
  auto saved = cast<ShapedType>(loop.getSaved().front().getType());
  std::optional<int64_t> lanes = loop.getLanes();
  int64_t length = saved.getDimSize(lanes ? 1 : 0), batch = saved.getDimSize(lanes ? 0 : 1);
  if (ShapedType::isDynamic(length))
    length = sizes.length;
  if (length == 0)
    return loop.emitOpError("has a number of steps that is known at run time only, or none; "
                            "evaluate it with length=T, T >= 1");
  if (lanes && !ShapedType::isDynamic(batch))
    batch *= *lanes;
  Block &body = loop.getBody().front();
  int64_t size = 0;
  for (BlockArgument state :
       body.getArguments().slice(loop.getSaved().size(), loop.getSeeds().size()))
    size += cast<ShapedType>(state.getType()).getNumElements();
  LinkChain chain;
  chain.links.assign(length, getMapStructure(loop, size));
  chain.region = getRegionCost(loop);
  chain.hasInjected = !loop.getInjected().empty();
  // Any code may read a buffer.
  chain.withInitial = !loop.getDestinations().empty() ||
                      llvm::any_of(loop.getCotangents(), [](Value v) { return !v.use_empty(); });
  chain.batch = getBatch(batch, sizes);
  chain.elementBytes = saved.getElementTypeBitWidth() / 8;
  return chain;
}

static LinkChain getListChain(ArrayRef<jacobian::MatrixType> types, Value seed, Value initial,
                              const DynamicSizes &sizes) {
  LinkChain chain;
  for (jacobian::MatrixType type : types)
    chain.links.push_back(getStructure(type));
  auto shaped = cast<ShapedType>(seed.getType());
  chain.withInitial = !initial.use_empty();
  chain.batch = getBatch(shaped.getDimSize(0), sizes);
  chain.elementBytes = shaped.getElementTypeBitWidth() / 8;
  return chain;
}

LinkChain bppsa::getLinkChain(ArrayRef<jacobian::ApplyOp> applies, const DynamicSizes &sizes) {
  SmallVector<jacobian::MatrixType> types;
  for (jacobian::ApplyOp apply : applies)
    types.push_back(cast<jacobian::MatrixType>(apply.getJacobian().getType()));
  return getListChain(types, jacobian::ApplyOp(applies.front()).getCotangent(),
                      jacobian::ApplyOp(applies.back()).getResult(), sizes);
}

LinkChain bppsa::getLinkChain(ArrayRef<jacobian::LinkOp> links, const DynamicSizes &sizes) {
  SmallVector<jacobian::MatrixType> types;
  for (jacobian::LinkOp link : links)
    types.push_back(link.getJacobianType());
  return getListChain(types, jacobian::LinkOp(links.front()).getCotangent(),
                      jacobian::LinkOp(links.back()).getResult(), sizes);
}

LinkChain bppsa::getLinkChain(const LayerChain &layers, const DynamicSizes &sizes) {
  LinkChain chain;
  chain.batch = std::max<int64_t>(sizes.batch, 1);
  for (const LayerLink &link : layers.links) {
    chain.links.push_back(getStructure(link.type));
    chain.elementBytes = link.type.getElementType().getIntOrFloatBitWidth() / 8;
  }
  return chain;
}

template <typename OpTy> static OpTy getNext(OpTy op) {
  for (Operation *user : op.getResult().getUsers())
    if (auto next = dyn_cast<OpTy>(user); next && next.getCotangent() == op.getResult())
      return next;
  return {};
}

template <typename OpTy> std::vector<SmallVector<OpTy>> bppsa::findLinkLists(Operation *root) {
  std::vector<SmallVector<OpTy>> lists;
  root->walk([&](OpTy op) {
    auto previous = op.getCotangent().template getDefiningOp<OpTy>();
    if (previous && getNext(previous) == op)
      return;
    SmallVector<OpTy> list;
    for (OpTy next = op; next; next = getNext(next))
      list.push_back(next);
    if (list.size() > 1 || std::is_same_v<OpTy, jacobian::LinkOp>)
      lists.push_back(std::move(list));
  });
  return lists;
}

template std::vector<SmallVector<jacobian::ApplyOp>> bppsa::findLinkLists(Operation *);
template std::vector<SmallVector<jacobian::LinkOp>> bppsa::findLinkLists(Operation *);
