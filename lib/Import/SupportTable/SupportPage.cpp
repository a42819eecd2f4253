//===- SupportPage.cpp - print the support table --------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "SupportTable.h"
#include "bppsa/Import/ImportONNX.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace bppsa;

//===----------------------------------------------------------------------===//
//===----------------------------------------------------------------------===//

StringRef bppsa::describe(AttributeKind kind) {
  switch (kind) {
  case AttributeKind::Int:
    return "int";
  case AttributeKind::Ints:
    return "list of ints";
  case AttributeKind::Float:
    return "float";
  case AttributeKind::Floats:
    return "list of floats";
  case AttributeKind::String:
    return "string";
  case AttributeKind::Strings:
    return "list of strings";
  case AttributeKind::Tensor:
    return "tensor";
  case AttributeKind::SparseTensor:
    return "sparse tensor";
  case AttributeKind::Graph:
    return "graph";
  }
  llvm_unreachable("a switch over all kinds");
}

/// "a", "a or b", "a, b or c".
static std::string listAlternatives(ArrayRef<std::string> words) {
  std::string text;
  for (auto [i, word] : llvm::enumerate(words))
    text += (i == 0 ? "" : i + 1 == words.size() ? " or " : ", ") + word;
  return text;
}

std::string bppsa::describe(unsigned elementTypes) {
  std::vector<std::string> words;
  if (elementTypes & F32)
    words.push_back("float");
  if (elementTypes & Integers)
    words.insert(words.end(), {"int32", "int64"});
  if (elementTypes & Bool)
    words.push_back("bool");
  if (elementTypes & ListOfTensors)
    words.push_back("list of tensors");
  return listAlternatives(words);
}

std::string bppsa::describeAccepted(const AttributeRule &rule) {
  if (rule.isRefused)
    return "nothing";
  std::vector<std::string> words = rule.strings;
  for (int64_t value : rule.integers)
    words.push_back(std::to_string(value));
  return words.empty() ? "any " + describe(rule.kind).str() : listAlternatives(words);
}

static std::string describe(OpsetRange opsets) {
  if (opsets.last == kNewestOpset)
    return opsets.first == kOldestOpset ? "" : "opset " + std::to_string(opsets.first) + "+";
  return "opset " + std::to_string(opsets.first) + "-" + std::to_string(opsets.last);
}

static void printDetails(raw_ostream &os, ArrayRef<std::string> details) {
  std::vector<std::string> words;
  llvm::copy_if(details, std::back_inserter(words),
                [](const std::string &word) { return !word.empty(); });
  if (!words.empty())
    os << " (" << llvm::join(words, "; ") << ")";
}

static void printOperand(raw_ostream &os, const OperandRule &rule, bool isInput) {
  os << '`' << rule.name << '`';
  printDetails(os, {rule.status == OperandStatus::Optional   ? "optional"
                    : rule.status == OperandStatus::Variadic ? "any number"
                                                             : "",
                    isInput ? describe(rule.elementTypes) : "", describe(rule.opsets)});
}

static void printAttribute(raw_ostream &os, const AttributeRule &rule) {
  os << '`' << rule.name << "`: ";
  if (rule.isRefused)
    os << "**refused**";
  else
    os << describeAccepted(rule);
  printDetails(os, {rule.isRequired ? "required" : "", describe(rule.opsets)});
}

void bppsa::printSupport(raw_ostream &os) {
  os << "# ONNX support\n\n"
     << "This page lists the ONNX operators that the importer supports, for users who want\n"
     << "to know whether a model can be imported. `bppsa-translate --list-onnx-support` prints\n"
     << "it from the table that the importer checks every node against. The importer refuses\n"
     << "everything that is not listed. Its error message names the node, the operator, the\n"
     << "unsupported feature and the accepted alternatives.\n\n"
     << "The importer supports opsets " << kOldestOpset << " to " << kNewestOpset
     << " of the default domain (`ai.onnx`). Graph inputs,\n"
     << "initializers and constants must have element type float, int32, int64 or bool. Models\n"
     << "in float16 and bfloat16 are computed in float32, and casts to these types do not\n"
     << "round.\n\n"
     << "The trained parameters are the float initializers, including external data and the\n"
     << "initializers of graphs inside nodes. Constants of `Constant` nodes are trained only\n"
     << "if `--train` matches their names. Values that `--bind` makes constant are not\n"
     << "trained. Model-local functions are inlined.\n\n"
     << "| op | since opset | inputs | outputs | attributes | remarks |\n"
     << "|---|---|---|---|---|---|\n";
  for (const OpRule &rule : getSupportTable()) {
    auto separate = [&] { os << "<br>"; };
    os << "| " << rule.name << " | " << rule.opsets.first << " | ";
    llvm::interleave(
        rule.inputs, [&](const OperandRule &input) { printOperand(os, input, true); }, separate);
    os << " | ";
    llvm::interleave(
        rule.outputs, [&](const OperandRule &output) { printOperand(os, output, false); },
        separate);
    os << " | ";
    llvm::interleave(
        rule.attributes, [&](const AttributeRule &attribute) { printAttribute(os, attribute); },
        separate);
    os << " | " << rule.note << " |\n";
  }
}
