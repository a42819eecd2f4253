//===- StreamPlan.cpp - layouts of step graphs in streams -----------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "StreamPlan.h"
#include <set>

using namespace mlir;
using namespace bppsa;

LoopLayout StreamAxes::getLayout() const {
  LoopLayout layout;
  int64_t first = getNumNewAxes();
  if (step) {
    layout.stepAxis = *step + first;
    layout.keepsStepAxis = true;
  } else if (!isCarried()) {
    layout.stepAxis = 0;
  }
  layout.keepsRowAxis = batch.has_value();
  layout.rowAxis = batch ? *batch + first : first - 1;
  return layout;
}

namespace {
class StreamPlanner {
public:
  StreamPlanner(const OnnxFile &file, const ImportOptions &options, const FoundAxes &found,
                GraphBindings &bindings)
      : file(file), graph(file.model.graph()), options(options), found(found),
        dimensions(bindings.dimensions) {
    for (const onnx::TensorProto &tensor : graph.initializer())
      initializers.insert(tensor.name());
    for (const onnx::ValueInfoProto &input : graph.input())
      if (!bindings.inputs.count(input.name()) && !initializers.count(input.name()))
        inputs.push_back(&input);
  }
  FailureOr<StreamPlan> run();

private:
  InFlightDiagnostic error() const { return emitError(file.location); }

  LogicalResult readCarries();
  LogicalResult readCarry(StringRef text);
  /// Parses `--batch-axis` or `--step-axis`; `member` is the axis that they set.
  LogicalResult readAxes(StringRef option, ArrayRef<BatchAxisRequest> requests,
                         std::optional<int64_t> StreamAxes::*member);
  LogicalResult checkAxis(StringRef option, const BatchAxisRequest &request,
                          const onnx::ValueInfoProto &input) const;
  void completeBatchAxes();
  void takeSymbols();
  LogicalResult checkSizes() const;

  const onnx::ValueInfoProto *findInput(StringRef name) const;
  const onnx::ValueInfoProto *findOutput(StringRef name) const;
  std::optional<int64_t> getSize(const onnx::ValueInfoProto &input, int64_t axis) const;
  static int64_t getRank(const onnx::ValueInfoProto &info) {
    return info.type().tensor_type().shape().dim_size();
  }

  const OnnxFile &file;
  const onnx::GraphProto &graph;
  const ImportOptions &options;
  const FoundAxes &found;
  Bindings &dimensions;
  std::set<std::string> initializers;
  SmallVector<const onnx::ValueInfoProto *> inputs;
  std::set<std::string> batchSymbols;
  StreamPlan plan;
};
} // namespace

const onnx::ValueInfoProto *StreamPlanner::findInput(StringRef name) const {
  for (const onnx::ValueInfoProto *input : inputs)
    if (input->name() == name)
      return input;
  return nullptr;
}

const onnx::ValueInfoProto *StreamPlanner::findOutput(StringRef name) const {
  for (const onnx::ValueInfoProto &output : graph.output())
    if (output.name() == name)
      return &output;
  return nullptr;
}

std::optional<int64_t> StreamPlanner::getSize(const onnx::ValueInfoProto &input,
                                              int64_t axis) const {
  const auto &dim = input.type().tensor_type().shape().dim(axis);
  if (dim.has_dim_value())
    return dim.dim_value();
  auto it = dimensions.find(getDimensionName(input, axis));
  if (it == dimensions.end() || !std::holds_alternative<int64_t>(it->second))
    return std::nullopt;
  return std::get<int64_t>(it->second);
}

LogicalResult StreamPlanner::readCarry(StringRef text) {
  // Names may contain colons.
  for (size_t colon = text.find(':'); colon != StringRef::npos; colon = text.find(':', colon + 1)) {
    StringRef in = text.take_front(colon), out = text.drop_front(colon + 1);
    if (!findInput(in) || !findOutput(out))
      continue;
    if (plan.inputs[in].isCarried() || plan.outputs[out].isCarried())
      return error() << "--carry=" << text << ": " << quoted(plan.inputs[in].isCarried() ? in : out)
                     << " is carried twice";
    plan.inputs[in].partner = out;
    plan.outputs[out].partner = in;
    return success();
  }
  auto [in, out] = text.split(':');
  if (in.empty() || out.empty())
    return error() << "--carry must be IN:OUT, found '" << text << "'";
  bool isInput = findInput(in);
  InFlightDiagnostic diagnostic = error();
  diagnostic << "--carry=" << text << ": the graph has no " << (isInput ? "output " : "input ")
             << quoted(isInput ? out : in) << "; it has ";
  auto list = [&](const onnx::ValueInfoProto *info) { diagnostic << quoted(info->name()); };
  if (!isInput)
    llvm::interleaveComma(inputs, diagnostic, list);
  else
    llvm::interleaveComma(llvm::make_pointer_range(graph.output()), diagnostic, list);
  return diagnostic;
}

LogicalResult StreamPlanner::checkAxis(StringRef option, const BatchAxisRequest &request,
                                       const onnx::ValueInfoProto &input) const {
  auto fail = [&]() -> InFlightDiagnostic {
    return error() << option << "=" << request.name << ":" << request.axis << ": ";
  };
  if (request.axis >= getRank(input))
    return fail() << "the array has rank " << getRank(input) << ", accepted: axes below that";
  std::optional<int64_t> size = getSize(input, request.axis);
  bool isBatch = option == "--batch-axis";
  if (size == 1 || (isBatch && !size))
    return success();
  std::string name = getDimensionName(input, request.axis);
  if (!size)
    return fail() << "the axis has the symbolic size " << quoted(name)
                  << ", accepted: size 1; --bind=" << name << "=1 makes it that";
  return fail() << "the axis has size " << *size << ", accepted: size 1"
                << (isBatch ? " or a symbolic size" : "");
}

LogicalResult StreamPlanner::readAxes(StringRef option, ArrayRef<BatchAxisRequest> requests,
                                      std::optional<int64_t> StreamAxes::*member) {
  for (const BatchAxisRequest &request : requests) {
    const onnx::ValueInfoProto *input = findInput(request.name);
    bool isOutput = findOutput(request.name);
    if (!input && !isOutput)
      return error() << option << ": the model has no input or output " << quoted(request.name);
    if (input && failed(checkAxis(option, request, *input)))
      return failure();
    StreamAxes &axes = (input ? plan.inputs : plan.outputs)[request.name];
    if (option == "--step-axis" && axes.isCarried())
      return error() << "--step-axis=" << request.name << ":" << request.axis << ": "
                     << quoted(request.name)
                     << " is carried from step to step and has no axis of steps";
    if (axes.*member && *(axes.*member) != request.axis)
      return error() << option << ": " << quoted(request.name) << " is given axes "
                     << *(axes.*member) << " and " << request.axis << ", accepted: one";
    axes.*member = request.axis;
    if (axes.step && axes.step == axes.batch)
      return error() << option << ": axis " << request.axis << " of " << quoted(request.name)
                     << " cannot carry both steps and samples";
  }
  return success();
}

void StreamPlanner::takeSymbols() {
  for (const onnx::ValueInfoProto *input : inputs)
    if (std::optional<int64_t> axis = plan.inputs[input->name()].batch;
        axis && !getSize(*input, *axis))
      batchSymbols.insert(getDimensionName(*input, *axis));
  auto take = [&](const onnx::ValueInfoProto &info, StreamAxes &axes) {
    for (int64_t i = 0; i < getRank(info) && !axes.batch; ++i)
      if (i != axes.step && !info.type().tensor_type().shape().dim(i).has_dim_value() &&
          batchSymbols.count(getDimensionName(info, i)))
        axes.batch = i;
  };
  for (const onnx::ValueInfoProto *input : inputs)
    take(*input, plan.inputs[input->name()]);
  for (const onnx::ValueInfoProto &output : graph.output())
    take(output, plan.outputs[output.name()]);
}

void StreamPlanner::completeBatchAxes() {
  takeSymbols();
  for (const onnx::ValueInfoProto *input : inputs) {
    StreamAxes &axes = plan.inputs[input->name()];
    auto it = found.find(input->name());
    if (it == found.end() || axes.batch || it->second == axes.step)
      continue;
    if (getSize(*input, it->second).value_or(1) == 1)
      axes.batch = it->second;
  }
  takeSymbols();
  for (const onnx::ValueInfoProto &output : graph.output()) {
    StreamAxes &axes = plan.outputs[output.name()];
    if (auto it = found.find(output.name());
        it != found.end() && !axes.batch && it->second != axes.step)
      axes.batch = it->second;
  }
  for (const onnx::ValueInfoProto *input : inputs) {
    StreamAxes &axes = plan.inputs[input->name()];
    if (!axes.isCarried())
      continue;
    StreamAxes &other = plan.outputs[axes.partner];
    other.batch = axes.batch = axes.batch ? axes.batch : other.batch;
  }
  for (const std::string &symbol : batchSymbols)
    dimensions[symbol] = int64_t(1);
}

LogicalResult StreamPlanner::checkSizes() const {
  bool hasSequence = false;
  for (const onnx::ValueInfoProto *input : inputs) {
    hasSequence |= !plan.inputs.lookup(input->name()).isCarried();
    for (int64_t i = 0; i < getRank(*input); ++i)
      if (std::string name = getDimensionName(*input, i); !getSize(*input, i))
        return error() << "dimension " << i << " of input " << quoted(input->name())
                       << " has the symbolic size " << quoted(name)
                       << ", but one step of a stream has fixed sizes; --bind=" << name
                       << "=NUMBER gives it one, --batch-axis=" << input->name() << ":" << i
                       << " says that it counts samples";
  }
  if (!hasSequence)
    return error() << "--carry: every input of the graph is carried, so the number of steps is "
                      "unknown; accepted: at least one input that is a sequence";
  return success();
}

LogicalResult StreamPlanner::readCarries() {
  for (const std::string &text : options.carries)
    if (failed(readCarry(text)))
      return failure();
  return success();
}

FailureOr<StreamPlan> StreamPlanner::run() {
  if (failed(readCarries()) ||
      failed(readAxes("--batch-axis", options.batchAxes, &StreamAxes::batch)) ||
      failed(readAxes("--step-axis", options.stepAxes, &StreamAxes::step)))
    return failure();
  completeBatchAxes();
  if (failed(checkSizes()))
    return failure();
  return std::move(plan);
}

FailureOr<StreamPlan> bppsa::planStream(const OnnxFile &file, const ImportOptions &options,
                                        const FoundAxes &found, GraphBindings &bindings) {
  return StreamPlanner(file, options, found, bindings).run();
}
