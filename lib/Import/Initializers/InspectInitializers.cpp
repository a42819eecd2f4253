//===- InspectInitializers.cpp - inspect initializer values ---------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "InspectInitializers.h"
#include "../Model/GraphImporter.h"
#include "ConstantWeights.h"
#include "GuessKind.h"
#include "SubgraphParameters.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace bppsa;

/// Records the role of `tensor` in `findings` and returns whether it is trained.
static FailureOr<bool> classify(const onnx::TensorProto &tensor, const RecordedKinds &kinds,
                                const KindGuesser &guesser, InitializerFindings &findings) {
  std::optional<InitializerKind> kind = kinds.find(tensor.name());
  if (!kind) {
    FailureOr<InitializerKind> guessed = guesser.guess(tensor);
    if (failed(guessed))
      return failure();
    kind = std::move(*guessed);
  }
  bool isTrained = kind->role != InitializerKind::Role::Constant;
  (isTrained ? findings.parameters : findings.constants)
      .push_back({tensor.name(), std::move(*kind)});
  return isTrained;
}

static bool areClones(const UseGroup &a, const UseGroup &b) {
  return llvm::any_of(a, [&](const InitializerUse &use) {
    return llvm::any_of(b, [&](const InitializerUse &other) {
      return use.node->op_type() == other.node->op_type() && use.input == other.input;
    });
  });
}

static bool holdsStatistic(const UseGroup &group) { return llvm::any_of(group, isStatistic); }

static bool fillsSlots(ArrayRef<UseGroup> groups) {
  for (size_t i = 1; i < groups.size(); ++i)
    for (const UseGroup &group : groups.take_front(i)) {
      const InitializerUse &a = group.front(), &b = groups[i].front();
      if (isStatistic(a) != isStatistic(b) ||
          (a.module && a.module == b.module && a.slot != b.slot))
        return true;
    }
  return false;
}

FailureOr<bool> bppsa::looksMerged(const OnnxFile &file, const onnx::TensorProto &tensor,
                                   ArrayRef<UseGroup> groups) {
  if (groups.size() < 2)
    return false;
  auto hasAlias = [](const UseGroup &group) { return !group.front().alias.empty(); };
  if (llvm::any_of(groups, hasAlias) || fillsSlots(groups))
    return true;
  bool hasModules =
      llvm::all_of(groups, [](const UseGroup &group) { return group.front().module.has_value(); });
  for (size_t i = 1; hasModules && i < groups.size(); ++i)
    if (llvm::any_of(groups.take_front(i),
                     [&](const UseGroup &group) { return areClones(group, groups[i]); }))
      return true;
  FailureOr<ValueFacts> facts = readFacts(file, tensor);
  if (failed(facts))
    return failure();
  return facts->isUniform && (hasModules || facts->count > 1);
}

static std::string describeGroup(StringRef initializer, const UseGroup &group) {
  std::string name = getParameterName(initializer, group);
  const onnx::NodeProto &node = *group.front().node;
  if (name.empty())
    return "node " + quoted(node.name().empty() ? node.output(0) : node.name());
  return quoted(name);
}

static SmallVector<const onnx::TensorProto *> collectFloats(const OnnxFile &file) {
  SmallVector<const onnx::TensorProto *> floats;
  for (const onnx::TensorProto &tensor : file.model.graph().initializer())
    if (tensor.data_type() == onnx::TensorProto::FLOAT)
      floats.push_back(&tensor);
  llvm::StringSet<> innerNames = findInnerParameters(file.model);
  visitSubgraphs(file.model.graph(), [&](const onnx::GraphProto &graph) {
    for (const onnx::TensorProto &tensor : graph.initializer())
      if (innerNames.contains(tensor.name()))
        floats.push_back(&tensor);
  });
  return floats;
}

/// Records an initializer merged from parameters. A constant counts only if it merges running
/// statistics or recorded parameters.
static LogicalResult noteMerged(const OnnxFile &file, const onnx::TensorProto &tensor,
                                ArrayRef<UseGroup> groups, const RecordedKinds &kinds,
                                bool isConstant, InitializerFindings &findings) {
  FailureOr<bool> isMerged = looksMerged(file, tensor, groups);
  if (failed(isMerged))
    return failure();
  auto isParameter = [&](const UseGroup &group) {
    return kinds.isParameter(getParameterName(tensor.name(), group));
  };
  bool areStatistics = llvm::all_of(groups, holdsStatistic);
  if (!*isMerged || (isConstant && !areStatistics && llvm::none_of(groups, isParameter)))
    return success();
  MergedInitializer &merged = findings.merged.emplace_back();
  merged.name = tensor.name();
  merged.areStatistics = areStatistics;
  merged.holdsConstant = isConstant || llvm::any_of(groups, holdsStatistic);
  bool hasOwn = groups.front().front().alias.empty();
  for (const UseGroup &group : groups.drop_front(hasOwn))
    merged.others.push_back(describeGroup(tensor.name(), group));
  return success();
}

FailureOr<InitializerFindings> bppsa::inspectInitializers(llvm::MemoryBufferRef buffer,
                                                          MLIRContext *context) {
  FailureOr<OnnxFile> file = parseOnnxFile(buffer, context);
  if (failed(file))
    return failure();
  auto uses = collectInitializerUses(*file->model.mutable_graph());
  RecordedKinds kinds(file->model.graph());
  KindGuesser guesser(*file, kinds);
  InitializerFindings findings;
  SmallVector<const onnx::TensorProto *> parameters;
  for (const onnx::TensorProto *found : collectFloats(*file)) {
    const onnx::TensorProto &tensor = *found;
    FailureOr<bool> isTrained = classify(tensor, kinds, guesser, findings);
    ArrayRef<UseGroup> groups = uses[tensor.name()];
    if (failed(isTrained) ||
        failed(noteMerged(*file, tensor, groups, kinds, !*isTrained, findings)))
      return failure();
    if (llvm::any_of(groups, holdsStatistic))
      findings.statistics.push_back(tensor.name());
    if (!*isTrained)
      continue;
    parameters.push_back(&tensor);
    if (llvm::any_of(groups, isSharedModuleCall))
      findings.called.push_back(tensor.name());
  }
  for (const onnx::NodeProto &node : file->model.graph().node())
    if (getMetadata(node, "pkg.onnxscript.rewriter.rule_name").starts_with("RemoveOptionalBias"))
      findings.removedBiases.push_back(getNodeName(node).str());
  findings.constantWeights = findConstantWeights(file->model);
  llvm::StringSet<> names;
  collectNames(file->model.graph(), names);
  // The file does not name removed biases or merged parameters. An initializer without a record may
  // be a renamed parameter.
  auto isRecorded = [](const ClassifiedInitializer &found) {
    return found.kind.evidence == Evidence::Record;
  };
  if (findings.merged.empty() && llvm::all_of(findings.parameters, isRecorded)) {
    findings.lost = kinds.findMissingParameters(names);
    if (!findings.removedBiases.empty())
      llvm::erase_if(findings.lost, [](StringRef name) { return name.ends_with("bias"); });
  }
  auto transposed = findTransposed(*file, parameters);
  if (failed(transposed))
    return failure();
  findings.transposed = std::move(*transposed);
  return findings;
}
