//===- Model.cpp - Description of a compiled model ------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Runtime/Model.h"
#include "bppsa/Runtime/Error.h"

#include <algorithm>
#include <set>

using namespace bppsa::runtime;

const ArrayInfo *Model::arrayOf(const std::string &argument) const {
  for (const LossInfo &loss : losses)
    for (const std::optional<ArrayInfo> *info : {&loss.target, &loss.weight})
      if (*info && (*info)->name == argument)
        return &**info;
  size_t colon = argument.find(':');
  if (colon == std::string::npos)
    return nullptr;
  std::string kind = argument.substr(0, colon), name = argument.substr(colon + 1);
  bool isOutput = kind == "output" || kind == "cotangent";
  if (kind != "input" && kind != "input_grad" && !isOutput)
    return nullptr;
  const std::vector<ArrayInfo> &infos = isOutput ? outputs : inputs;
  auto found = std::find_if(infos.begin(), infos.end(),
                            [&](const ArrayInfo &info) { return info.name == name; });
  return found == infos.end() ? nullptr : &*found;
}

std::string Model::suffixOf(const LossInfo &loss) const {
  return losses.size() > 1 ? "." + loss.output : "";
}

const LossInfo *Model::classLoss() const {
  auto hasClasses = [](const LossInfo &loss) { return loss.hasClasses(); };
  auto found = std::find_if(losses.begin(), losses.end(), hasClasses);
  return std::count_if(losses.begin(), losses.end(), hasClasses) == 1 ? &*found : nullptr;
}

static std::string joinLosses(const std::vector<LossInfo> &losses, std::string LossInfo::*word) {
  std::string joined;
  for (const LossInfo &loss : losses)
    joined += (joined.empty() ? "" : ", ") + loss.*word;
  return joined;
}

std::string Model::lossText() const { return joinLosses(losses, &LossInfo::kind); }
std::string Model::lossOutputs() const { return joinLosses(losses, &LossInfo::output); }

std::optional<int64_t> Model::fixedSize(std::optional<int64_t> ArrayInfo::*axis) const {
  for (const ArrayInfo &input : inputs)
    if (std::optional<int64_t> at = input.*axis)
      if (const Extent &extent = input.shape[*at]; extent.kind == Extent::Kind::Number)
        return extent.number;
  return std::nullopt;
}

bool Model::isStream() const {
  return std::any_of(inputs.begin(), inputs.end(),
                     [](const ArrayInfo &input) { return !input.carried.empty(); });
}

bool Model::hasSamples() const {
  return std::any_of(inputs.begin(), inputs.end(),
                     [](const ArrayInfo &input) { return input.batchAxis.has_value(); });
}

/// Throws Error if the samples of a loss's output lie along the class axis of its target.
static void requireSlicedTarget(const Model &model) {
  for (const LossInfo &loss : model.losses)
    for (const ArrayInfo &output : model.outputs)
      if (output.name == loss.output && output.batchAxis && loss.target && !loss.target->batchAxis)
        fail("axis ", *output.batchAxis, " of output ", quote(output.name),
             " carries the samples, but the loss ", loss.kind,
             " has its classes there, so the array ", quote(loss.target->name),
             " cannot be sliced into batches");
}

void bppsa::runtime::requireSamples(const Model &model) {
  if (model.hasSamples())
    return requireSlicedTarget(model);
  std::set<std::string> accepted;
  for (const ArrayInfo &input : model.inputs)
    for (int64_t axis : input.batchAxes)
      if (axis >= 0)
        accepted.insert(text("--batch-axis=", input.name, ":", axis, " (axis ", axis, " of input ",
                             quote(input.name), ", ", model.shapeText(input.shape), ")"));
  fail("no axis of an input is known to carry samples, so nothing can be sliced into batches; ",
       accepted.empty()
           ? "`infer` and `grad` take the arrays of a file as one call"
           : "accepted: " + list(std::vector<std::string>(accepted.begin(), accepted.end())));
}

std::string bppsa::runtime::bindShape(const Model &model, const ArrayInfo &info,
                                      const std::vector<int64_t> &found, Symbols &symbols,
                                      std::vector<std::string> &origin) {
  std::string expected = model.shapeText(info.shape);
  if (found.size() != info.shape.size())
    return text("found rank ", found.size(), " (shape ", list(found), "), expected rank ",
                info.shape.size(), ": ", expected);
  for (size_t axis = 0; axis < found.size(); ++axis) {
    const Extent &extent = info.shape[axis];
    // An axis may only be empty if the model fixes its size at zero.
    if (found[axis] == 0 && evaluate(extent, symbols) != 0)
      return text("found shape ", list(found), ": axis ", axis, " (", model.extentText(extent),
                  ") is empty; every axis needs at least one element");
    std::optional<int64_t> value = evaluate(extent, symbols);
    if (!value && extent.kind == Extent::Kind::Symbol) {
      if (int64_t least = model.minSizes[extent.symbol]; found[axis] < least)
        return text("found shape ", list(found), ": the model needs ", model.extentText(extent),
                    " >= ", least, ", found ", found[axis]);
      symbols[extent.symbol] = found[axis];
      origin[extent.symbol] = info.name;
      continue;
    }
    if (value == found[axis])
      continue;
    std::string because;
    if (extent.kind == Extent::Kind::Symbol)
      because = text(" (", model.symbols[extent.symbol], " is ", *value, " in array ",
                     quote(origin[extent.symbol]), ")");
    return text("found shape ", list(found), ", expected ", expected, ": axis ", axis,
                " must have size ", value ? std::to_string(*value) : model.extentText(extent),
                because);
  }
  return "";
}
