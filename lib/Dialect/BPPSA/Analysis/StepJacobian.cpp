//===- StepJacobian.cpp - structure of the links of time loops ------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// Chain bodies are linear in cotangents, so their derivative is the transposed Jacobian;
// derivatives of recurrence bodies are transposed.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Dialect/BPPSA/Analysis/StepJacobian.h"
#include "LinkTerms.h"
#include "bppsa/Dialect/BPPSA/Analysis/LinearForm.h"

using namespace mlir;
using namespace bppsa;

static jacobian::StructureAttr transpose(jacobian::StructureAttr structure) {
  MLIRContext *context = structure.getContext();
  SmallVector<jacobian::StructureAttr> parts = llvm::map_to_vector(structure.getParts(), transpose);
  switch (structure.getKind()) {
  case jacobian::StructureKind::RowScaled:
    return jacobian::StructureAttr::get(context, jacobian::StructureKind::ColumnScaled);
  case jacobian::StructureKind::ColumnScaled:
    return jacobian::StructureAttr::get(context, jacobian::StructureKind::RowScaled);
  case jacobian::StructureKind::CSR:
    return jacobian::StructureAttr::getCSR(
        jacobian::PatternAttr::get(context, structure.getPattern().getValue().transpose()));
  case jacobian::StructureKind::Sum:
  case jacobian::StructureKind::BlockDiagonal:
    return jacobian::StructureAttr::get(context, structure.getKind(), structure.getCount(), {}, {},
                                        {}, parts);
  case jacobian::StructureKind::Blocks: {
    SmallVector<jacobian::StructureAttr> turned;
    size_t width = structure.getColSizes().size(), height = structure.getRowSizes().size();
    for (size_t j = 0; j < width; ++j)
      for (size_t i = 0; i < height; ++i)
        turned.push_back(parts[i * width + j]);
    return jacobian::StructureAttr::getBlocks(structure.getColSizes(), structure.getRowSizes(),
                                              turned);
  }
  default:
    return structure;
  }
}

jacobian::MatrixType bppsa::inferStepJacobian(Operation *loop) {
  Block &body = loop->getRegion(0).front();
  if (isGraphBody(body))
    return {};
  Region scales;
  LinkTerms link(loop, scales.emplaceBlock());
  if (link.getNumStates() == 0)
    return {};
  SmallVector<int64_t> sizes;
  SmallVector<jacobian::StructureAttr> parts;
  int64_t size = 0;
  for (unsigned row = 0; row < link.getNumStates(); ++row) {
    for (unsigned col = 0; col < link.getNumStates(); ++col)
      parts.push_back(link.getStructure(body.getTerminator()->getOperand(row), col));
    sizes.push_back(cast<VectorType>(link.getState(row).getType()).getNumElements());
    size += sizes.back();
  }
  jacobian::StructureAttr structure = jacobian::StructureAttr::getGrid(sizes, sizes, parts);
  if (isa<RecurrenceOp>(loop))
    structure = transpose(structure);
  std::optional<int64_t> batch;
  if (!structure.isShared())
    batch = ShapedType::kDynamic;
  auto type = cast<VectorType>(link.getState(0).getType()).getElementType();
  return jacobian::MatrixType::get(loop->getContext(), size, size, type, structure, batch);
}

LogicalResult bppsa::verifyInferredStructure(ChainOp chain) {
  if (!chain.getStructure())
    return chain.emitOpError("has no structure of its link; run bppsa-infer-structure first");
  jacobian::StructureAttr found = inferStepJacobian(chain).getStructure();
  if (found == chain.getStructure()) {
    std::optional<LinearForm> form = LinearForm::get(chain);
    if (!chain.getTerms() ||
        (form && llvm::equal(chain.getTermsAttr().getAsRange<TermAttr>(), form->terms)))
      return success();
    return chain.emitOpError(
        "has terms that differ from the terms of its link; run bppsa-infer-structure again");
  }
  return chain.emitOpError() << "has the structure '" << chain.getStructure()->toString()
                             << "' but its link has '" << found.toString()
                             << "'; run bppsa-infer-structure again";
}
