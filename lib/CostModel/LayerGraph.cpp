//===- LayerGraph.cpp - readable descriptions of links --------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/CostModel/LayerGraph.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace bppsa;

std::string bppsa::getLayerName(Operation *op) {
  std::string name;
  op->getLoc()->walk([&](Location loc) {
    auto named = dyn_cast<NameLoc>(loc);
    if (!named || named.getName().empty())
      return WalkResult::advance();
    name = named.getName().str();
    return WalkResult::interrupt();
  });
  return name.empty() ? op->getName().getStringRef().str() : name;
}

/// Returns the shape of one sample of `value`, which has `numElements` elements.
static Shape getSampleShape(Value value, int64_t numElements) {
  auto type = dyn_cast<ShapedType>(value.getType());
  if (!type || !type.hasRank())
    return {};
  for (int64_t axis = 0; axis < type.getRank(); ++axis) {
    Shape shape(type.getShape());
    shape.erase(shape.begin() + axis);
    if (!ShapedType::isDynamicShape(shape) && ShapedType::getNumElements(shape) == numElements)
      return shape;
  }
  return {numElements};
}

LayerGraph bppsa::describeLayers(const LayerChain &chain) {
  LayerGraph graph;
  for (const LayerLink &link : llvm::reverse(chain.links))
    graph.layers.push_back({link.getOp()->getName().getStringRef().str(),
                            getLayerName(link.getOp()),
                            getSampleShape(link.operand, link.type.getRows()),
                            getSampleShape(link.getOp()->getResult(0), link.type.getCols())});
  graph.begins = chain.begins.empty() ? "graph input" : chain.begins;
  graph.ends = chain.ends;
  return graph;
}

static std::vector<Shape> getShapes(TypeRange types) {
  std::vector<Shape> shapes;
  for (Type type : types)
    shapes.emplace_back(cast<ShapedType>(type).getShape());
  return shapes;
}

StepDescription bppsa::describeStep(ChainOp loop) {
  Block &body = loop.getBody().front();
  size_t numStates = loop.getSeeds().size(), numSaved = loop.getSaved().size();
  TypeRange arguments = body.getArgumentTypes();
  StepDescription step;
  step.operation = loop->getName().getStringRef().str();
  step.name = getLayerName(loop);
  step.saved = getShapes(arguments.take_front(numSaved));
  step.states = getShapes(arguments.slice(numSaved, numStates));
  step.captures = getShapes(arguments.drop_front(numSaved + numStates));
  step.emitted = getShapes(body.getTerminator()->getOperands().drop_front(numStates).getTypes());
  for (int64_t state : loop.getInjectInto())
    step.injected.push_back({step.states[state], state});
  llvm::MapVector<StringRef, int64_t> counts;
  for (Operation &op : body.without_terminator())
    if (!op.hasTrait<OpTrait::ConstantLike>())
      ++counts[op.getName().getStringRef()];
  for (auto [name, count] : counts)
    step.operations.emplace_back(name.str(), count);
  return step;
}
