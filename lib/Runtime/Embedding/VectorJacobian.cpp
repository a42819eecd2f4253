//===- VectorJacobian.cpp - forward and backward passes apart -------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Runtime/Embedding/EmbeddedProgram.h"
#include "bppsa/Runtime/Error.h"

#include <algorithm>
#include <cstring>

using namespace bppsa::runtime;

void EmbeddedProgram::requireProducts() const {
  for (const LossInfo &loss : model().losses)
    if (loss.kind != "vjp")
      throw UsageError(text("forward and backward apart need a program compiled with --loss=vjp, "
                            "found the loss ",
                            loss.kind));
}

Residuals EmbeddedProgram::forward(const ArrayArguments &arguments, const ArrayArguments &outputs) {
  requireProducts();
  EmbeddedCall &call = runInfer(arguments, outputs);
  Residuals residuals;
  residuals.program = program.checksum;
  for (const ArrayArgument &argument : arguments) {
    bool isInput = std::any_of(model().inputs.begin(), model().inputs.end(),
                               [&](const ArrayInfo &info) { return info.name == argument.name; });
    if (!isInput)
      continue;
    Array &copy = residuals.inputs[argument.name];
    uint64_t bytes = elementCount(argument.shape) * elementSize(argument.dtype);
    copy = {argument.dtype, argument.shape, Buffer::uninitialized(bytes)};
    argument.read(copy.data.data());
  }
  const std::vector<ParameterInfo> &infos = model().parameters;
  for (size_t i = 0; i < infos.size(); ++i) {
    const float *values = session->parameters.values(i);
    residuals.parameters.emplace_back(values, values + infos[i].elements);
  }
  for (const ArrayInfo &info : model().outputs)
    residuals.outputShapes[info.name] = call.result("output:" + info.name).shape;
  return residuals;
}

/// Exchanges the values of parameters, by number.
void EmbeddedProgram::exchangeParameters(std::map<size_t, std::vector<float>> &values) {
  for (auto &[i, own] : values)
    std::swap_ranges(own.begin(), own.end(), session->parameters.changeValues(i));
}

namespace {
/// The parameters of a forward pass in place of those of now, while this lives.
template <typename Exchange> class Exchanged {
public:
  explicit Exchanged(Exchange exchange) : exchange(std::move(exchange)) { this->exchange(); }
  ~Exchanged() { exchange(); }
  Exchanged(const Exchanged &) = delete;

private:
  Exchange exchange;
};
} // namespace

void EmbeddedProgram::backward(const Residuals &residuals, const ArrayArguments &cotangents,
                               const ArrayArguments &results) {
  requireProducts();
  if (residuals.program != program.checksum)
    throw UsageError("the residuals are those of another program");
  ArrayArguments arguments;
  for (const auto &[name, array] : residuals.inputs)
    arguments.push_back({name, const_cast<std::byte *>(array.data.data()), array.dtype, array.shape,
                         /*strides=*/{}});
  std::vector<Buffer> zeros;
  size_t used = 0;
  for (const LossInfo &loss : model().losses) {
    const std::vector<int64_t> &shape = residuals.outputShapes.at(loss.output);
    auto given = std::find_if(cotangents.begin(), cotangents.end(),
                              [&](const ArrayArgument &one) { return one.name == loss.output; });
    if (given != cotangents.end()) {
      requireShape(*given, DType::F32, shape);
      arguments.push_back(*given);
      ++used;
    } else {
      zeros.emplace_back(elementCount(shape) * sizeof(float));
      arguments.push_back({"", zeros.back().data(), DType::F32, shape, /*strides=*/{}});
    }
    arguments.back().name = loss.target->name;
  }
  if (used != cotangents.size())
    throw UsageError(
        text("a cotangent is named twice, or after none of the outputs ", model().lossOutputs()));
  EmbeddedCall &call = prepare("grad", arguments, LossArrays::Needed);
  requireGradients(call, results);
  // Those that no update has changed since stay where they are.
  std::map<size_t, std::vector<float>> changed;
  for (size_t i = 0; i < residuals.parameters.size(); ++i)
    if (const std::vector<float> &values = residuals.parameters[i];
        memcmp(session->parameters.values(i), values.data(), values.size() * sizeof(float)) != 0)
      changed[i] = values;
  {
    Exchanged parameters([&] { exchangeParameters(changed); });
    call.run();
  }
  session->parameters.maskGradients();
  writeGradients(call, results);
}
