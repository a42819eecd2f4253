//===- Initializers.cpp - which initializers are parameters ---------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Import/Initializers.h"
#include "Compilation.h"
#include "bppsa/Dialect/BPPSA/IR/DiscardableAttributes.h"
#include "bppsa/Import/TrainingMode.h"
#include "bppsa/Support/NamePattern.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/StringMap.h"

using namespace mlir;
using namespace bppsa;

/// "a, b, c and 4 others"
static std::string listSome(ArrayRef<std::string> texts) {
  constexpr size_t shown = 6;
  // One more takes no more place than "1 others".
  if (texts.size() <= shown + 1)
    return llvm::join(texts, ", ");
  return llvm::join(texts.take_front(shown), ", ") + " and " +
         std::to_string(texts.size() - shown) + " others";
}

LogicalResult Compilation::untie(std::unique_ptr<llvm::MemoryBuffer> &file) {
  if (!options.untie)
    return success();
  FailureOr<std::string> untied = untieInitializers(*file, &context, *options.untie);
  if (failed(untied))
    return failure();
  file = llvm::MemoryBuffer::getMemBufferCopy(*untied, source.path);
  return success();
}

LogicalResult Compilation::setTrainingMode(std::unique_ptr<llvm::MemoryBuffer> &file) {
  if (!options.trainingMode)
    return success();
  FailureOr<std::string> changed = bppsa::setTrainingMode(*file, &context, *options.trainingMode);
  if (failed(changed))
    return failure();
  file = llvm::MemoryBuffer::getMemBufferCopy(*changed, source.path);
  return success();
}

LogicalResult Compilation::loadImage(const llvm::MemoryBuffer &file) {
  FailureOr<std::optional<std::string>> changed = makeInferenceForm(file, &context);
  if (failed(changed))
    return failure();
  FailureOr<OnnxImage> loaded =
      *changed ? loadOnnxImage(llvm::MemoryBufferRef(**changed, source.path), &context)
               : loadOnnxImage(file, &context);
  if (failed(loaded))
    return failure();
  image = std::move(*loaded);
  return success();
}

/// One line that names initializers that look merged.
static std::string describeMerged(ArrayRef<MergedInitializer> merged) {
  std::vector<std::string> texts;
  for (const MergedInitializer &initializer : merged)
    texts.push_back("'" + initializer.name + "' (also for " + listSome(initializer.others) + ")");
  return "initializers that look merged by an exporter because their values are equal are trained "
         "as one: " +
         listSome(texts) + "; --untie gives each its own";
}

/// One line on parameters of modules that are called more than once; empty for none.
static std::string describeCalled(ArrayRef<std::string> names) {
  if (names.empty())
    return "";
  auto quote = [](const std::string &name) { return "'" + name + "'"; };
  return "trained as one, because the names of their nodes are those of calls of one module: " +
         listSome(llvm::map_to_vector(names, quote)) + "; --untie=REGEX gives each call its own";
}

/// One line that names matrices and what they are transposed.
static std::string describeTransposed(ArrayRef<std::pair<std::string, std::string>> pairs) {
  std::vector<std::string> texts;
  for (const auto &[name, other] : pairs)
    texts.push_back("'" + name + "' and '" + other + "'");
  return "initializers that are one matrix and its transpose, which exporters make of one "
         "parameter, are trained apart: " +
         listSome(texts) +
         "; to train them as one, export without constant folding (do_constant_folding=False, or "
         "optimize=False with dynamo=True)";
}

/// One line on initializers that the exporter has computed from parameters.
static std::string describeDerived(ArrayRef<std::string> derived) {
  return "the exporter has computed initializers from parameters, and these are trained in place "
         "of the parameters: " +
         listSome(derived) +
         "; to train the parameters, export with optimize=False. --freeze=REGEX keeps initializers "
         "as they are";
}

/// One line on trained scalars, in which exporters keep constants too; empty for none.
static std::string describeScalars(ArrayRef<std::string> names) {
  if (names.empty())
    return "";
  auto escape = [](StringRef name) { return llvm::Regex::escape(name); };
  std::string freeze = "--freeze='^(" + llvm::join(llvm::map_range(names, escape), "|") + ")$'";
  bool isOne = names.size() == 1;
  return (isOne ? "initializer '" : "initializers '") + llvm::join(names, "', '") +
         (isOne ? "' is a scalar, which exporters use for a constant, and is trained; "
                : "' are scalars, which exporters use for constants, and are trained; ") +
         freeze + (isOne ? " keeps it" : " keeps them");
}

/// One line on parameters that the file lacks; empty for none.
static std::string describeRemoved(ArrayRef<std::string> nodes) {
  if (nodes.empty())
    return "";
  return "the exporter has removed biases because they are zero, which PyTorch trains and this "
         "program does not: those of the nodes " +
         listSome(nodes) + "; export with optimize=False to keep them";
}

/// Notes why an initializer is trained or not.
static void classify(llvm::json::Object &classification, StringRef name, StringRef kind,
                     StringRef reason) {
  classification[name.str()] = llvm::json::Object{{"kind", kind.str()}, {"reason", reason.str()}};
}

LogicalResult Compilation::settleInitializers(const llvm::MemoryBuffer &file) {
  FailureOr<InitializerFindings> findings = inspectInitializers(file, &context);
  if (failed(findings))
    return failure();
  std::string wrong;
  llvm::Regex regex = compilePattern("--train", options.train, wrong);
  if (!wrong.empty())
    return fail(wrong);
  for (const auto &[name, reason] : findings->recorded)
    classify(classification, name, "trained", reason);
  llvm::StringMap<std::string> constants;
  bool matched = options.train.empty();
  for (const auto &[name, reason] : findings->constants) {
    bool isChosen = !options.train.empty() && regex.match(name);
    matched |= isChosen;
    if (isChosen)
      classify(classification, name, "trained", "--train");
    else
      constants[name] = reason;
  }
  if (!matched)
    return fail("--train='" + options.train +
                "' matches no initializer that looks like a constant; others are trained anyway");
  auto forward = module->lookupSymbol<func::FuncOp>("forward");
  SmallVector<DictionaryAttr> arguments;
  std::vector<std::string> frozen, scalars, trained;
  llvm::Regex freeze(options.training.freeze);
  for (unsigned i = 0, e = forward.getNumArguments(); i < e; ++i) {
    NamedAttrList attributes(forward.getArgAttrDict(i));
    auto name = attrs::Parameter::ofArgument(forward, i);
    if (name && attrs::Frozen::in(attributes))
      classify(classification, name.getValue(), "frozen", "not read by the graph");
    if (auto found = name ? constants.find(name.getValue()) : constants.end();
        found != constants.end() && !attrs::Frozen::in(attributes)) {
      attrs::Frozen::set(attributes, UnitAttr::get(&context));
      frozen.push_back("'" + name.str() + "' (" + found->second + ")");
      classify(classification, name.getValue(), "constant", found->second);
    }
    if (name && !attrs::Frozen::in(attributes) && !options.training.freeze.empty() &&
        freeze.match(name.getValue()))
      classify(classification, name.getValue(), "frozen", "--freeze");
    else if (name && !attrs::Frozen::in(attributes)) {
      trained.push_back(name.str());
      if (llvm::is_contained(findings->scalars, name.getValue()))
        scalars.push_back(name.str());
    }
    arguments.push_back(attributes.getDictionary(&context));
  }
  forward.setAllArgAttrs(arguments);
  if (!frozen.empty())
    remarks.push_back({CompileDiagnostic::Severity::Note,
                       "not trained, as buffers or constants: " + listSome(frozen) +
                           "; --train=REGEX trains them"});
  std::vector<std::string> derived;
  for (const auto &[name, reason] : findings->derived)
    if (llvm::is_contained(trained, name))
      derived.push_back("'" + name + "' (" + reason + ")");
  if (!derived.empty())
    warn(describeDerived(derived));
  if (std::string text = describeScalars(scalars); !text.empty())
    warn(std::move(text));
  llvm::erase_if(findings->transposed, [&](const auto &pair) {
    return !llvm::is_contained(trained, pair.first) || !llvm::is_contained(trained, pair.second);
  });
  if (!findings->transposed.empty())
    warn(describeTransposed(findings->transposed));
  if (std::string text = describeRemoved(findings->removedBiases); !text.empty())
    warn(std::move(text));
  if (std::string text = describeCalled(findings->called); !text.empty())
    remarks.push_back({CompileDiagnostic::Severity::Note, std::move(text)});
  if (!findings->merged.empty())
    warn(describeMerged(findings->merged));
  return success();
}

LogicalResult Compilation::freezeRows() {
  auto forward = module->lookupSymbol<func::FuncOp>("forward");
  for (const std::string &text : options.freezeRows) {
    FrozenRow request = *FrozenRow::parse(text);
    std::optional<unsigned> found;
    for (unsigned i = 0, e = forward.getNumArguments(); i < e && !found; ++i)
      if (auto name = attrs::Parameter::ofArgument(forward, i);
          name && name.getValue() == request.name && !attrs::Frozen::ofArgument(forward, i))
        found = i;
    if (!found)
      return fail("--freeze-rows=" + text + ": '" + request.name +
                  "' is no initializer that is trained");
    auto type = cast<RankedTensorType>(forward.getArgumentTypes()[*found]);
    int64_t rows = type.getRank() == 0 ? 0 : type.getDimSize(0);
    if (request.row >= rows)
      return fail("--freeze-rows=" + text + ": '" + request.name + "' has " + Twine(rows) +
                  " rows, accepted: 0 to " + Twine(rows - 1));
    options.training.frozenRows.push_back(std::move(request));
  }
  return success();
}
