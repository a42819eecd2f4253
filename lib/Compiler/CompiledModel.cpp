//===- CompiledModel.cpp - serialize models without code ------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Compiler/Compiler.h"

using namespace bppsa;

static std::string CompiledModel::*const kParts[] = {
    &CompiledModel::description, &CompiledModel::onnx, &CompiledModel::instructionSet,
    &CompiledModel::module};
static std::string ProgramFunction::*const kFunctionParts[] = {
    &ProgramFunction::name, &ProgramFunction::root, &ProgramFunction::symbol,
    &ProgramFunction::residualBytes};

std::vector<std::string> CompiledModel::toTexts() const {
  std::vector<std::string> texts;
  for (std::string CompiledModel::*part : kParts)
    texts.push_back(this->*part);
  for (const ProgramFunction &function : functions)
    for (std::string ProgramFunction::*part : kFunctionParts)
      texts.push_back(function.*part);
  return texts;
}

std::optional<CompiledModel> CompiledModel::fromTexts(std::vector<std::string> texts) {
  size_t parts = std::size(kParts), functionParts = std::size(kFunctionParts);
  if (texts.size() < parts || (texts.size() - parts) % functionParts != 0)
    return std::nullopt;
  CompiledModel model;
  auto text = texts.begin();
  for (std::string CompiledModel::*part : kParts)
    model.*part = std::move(*text++);
  while (text != texts.end()) {
    ProgramFunction &function = model.functions.emplace_back();
    for (std::string ProgramFunction::*part : kFunctionParts)
      function.*part = std::move(*text++);
  }
  return model;
}
