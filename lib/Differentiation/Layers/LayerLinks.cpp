//===- LayerLinks.cpp - layer chains as lists of links --------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "LayerLinks.h"
#include "bppsa/Dialect/BPPSA/IR/DiscardableAttributes.h"
#include "bppsa/Support/SampleLayout.h"
#include "mlir/IR/Remarks.h"

using namespace mlir;
using namespace bppsa;

static remark::RemarkOpts getRemarkOptions(Operation *op) {
  return remark::RemarkOpts::name("LayerLinks")
      .category("links")
      .function(op->getParentOfType<func::FuncOp>().getName());
}

static void reportNoLink(Operation *op, StringRef why) {
  remark::missed(op->getLoc(), getRemarkOptions(op))
      << remark::add("{0} is not a link of a chain: {1}", op->getName().getStringRef(), why);
}

void LayerLinks::addChain(const LayerChain &found, const SampleAxes &axes) {
  SmallVector<LinkWithJacobian, 0> chain;
  bool isWhole = true;
  for (const LayerLink &link : found.links) {
    // Layers before this one need no cotangents.
    isWhole = activity.contains(link.operand);
    if (!isWhole)
      break;
    const Layer &layer = link.layer;
    std::string why;
    std::optional<LinkValues> values = findLinkValues(cast<OpResult>(layer.op->getResult(0)),
                                                      layer.operand, layer.type, axes, why);
    if (!values) {
      reportNoLink(layer.op, why);
      break;
    }
    if (!link.rows.empty())
      values = values->selectRows(layer.type.computePattern(), link.rows);
    chain.push_back({link, std::move(*values)});
  }
  // A single link cannot be composed with another.
  if (chain.size() < 2)
    return;
  Operation *last = chain.front().getOp();
  remark::passed(last->getLoc(), getRemarkOptions(last))
      << remark::add("chain of {0} links", chain.size());
  if (isWhole && !found.begins.empty())
    remark::analysis(last->getLoc(), getRemarkOptions(last))
        << remark::add("the chain is cut at its beginning: {0}", found.begins);
  for (LinkWithJacobian &valued : chain) {
    const LinkWithJacobian &link = links.emplace_back(std::move(valued));
    linkOf[link.getOp()] = nullptr;
    for (const Layer &identity : link.entering)
      linkOf[identity.op] = nullptr;
    linkOf[link.getFirstReached()] = &link;
  }
}

void LayerLinks::find(func::FuncOp function) {
  // In a recurrent model the long chain is the chain over time, whose links are code.
  if (function.walk([](RecurrenceOp) { return WalkResult::interrupt(); }).wasInterrupted())
    return;
  SampleAxes axes = annotateGraphStructure(function, /*batchAxis=*/0,
                                           [](Operation *, jacobian::MatrixType, StringRef) {});
  for (const LayerChain &found : findLayerChains(function, reportNoLink))
    addChain(found, axes);
  function.walk([](Operation *op) { attrs::OperandJacobians::remove(op); });
}

LogicalResult LayerLinks::addParameterCotangents(const Layer &layer, Value cotangent, Value done) {
  SmallVector<Value> operands = getDifferentiatedOperands(layer.op);
  SmallVector<bool> needed = llvm::map_to_vector(operands, [&](Value value) {
    return value != layer.operand && activity.contains(value) && value != done;
  });
  if (!llvm::is_contained(needed, true))
    return success();
  auto type = cast<RankedTensorType>(layer.op->getResult(0).getType());
  if (cotangent.getType() != type)
    cotangent = unflattenSamples(builder, flattenSamples(builder, cotangent), type);
  FailureOr<SmallVector<Value>> cotangents = applyRule(builder, layer.op, cotangent, needed);
  if (failed(cotangents))
    return failure();
  for (auto [operand, gradient] : llvm::zip_equal(operands, *cotangents))
    if (gradient)
      sweep.add(operand, gradient, gradient != cotangent);
  return success();
}

LogicalResult LayerLinks::visit(Operation *op) {
  const LinkWithJacobian *link = linkOf.at(op);
  Value cotangent = sweep.lookup(op->getResult(0));
  if (!link || !cotangent)
    return success();
  Value factor = link->values.factor;
  bool isPruned = factor && activity.contains(factor) && getNonzeros(factor);
  FailureOr<jacobian::LinkOp> created =
      createLink(builder, *link, cotangent, isPruned ? factor : Value());
  if (failed(created))
    return failure();
  sweep.add(link->operand, created->getResult());
  if (isPruned)
    sweep.add(factor, created->getGradients().front());
  for (const Layer &identity : link->entering)
    if (failed(addParameterCotangents(identity, cotangent, /*done=*/{})))
      return failure();
  return addParameterCotangents(link->layer, cotangent, isPruned ? factor : Value());
}
