//===- VectorJacobian.cpp - Separate forward and backward passes ----------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Program/Losses.h"
#include "bppsa/Runtime/Device/Device.h"
#include "bppsa/Runtime/Embedding/EmbeddedProgram.h"
#include "bppsa/Runtime/Error.h"

#include <algorithm>
#include <cstring>

using namespace bppsa::runtime;

ResidualBlock::ResidualBlock(const ArrayArgument &given)
    : memory(static_cast<std::byte *>(given.data)), size(elementCount(given.shape)) {
  if (given.dtype != DType::U8 || !given.strides.empty())
    fail("the residuals must be a compact array of uint8, found ", numpyName(given.dtype), " ",
         list(given.shape));
}

void ResidualBlock::requireSize(uint64_t wanted) const {
  if (size < sizeof(ResidualHeader) + wanted)
    fail("the residuals of these arrays take ", sizeof(ResidualHeader) + wanted, " bytes, found ",
         size);
}

ResidualHeader ResidualBlock::finishedHeader() const {
  requireSize(0);
  ResidualHeader header;
  memcpy(&header, memory, sizeof header);
  if (header.state == ResidualHeader::started)
    throw UsageError("the residuals belong to a forward pass that has failed");
  if (header.state != ResidualHeader::complete)
    throw UsageError("the residuals belong to another program, or to none");
  requireSize(header.bytes);
  return header;
}

void ResidualBlock::setHeader(const ResidualHeader &header) {
  memcpy(memory, &header, sizeof header);
}

/// FNV-1a on whole integers.
static uint64_t hashSizes(const Symbols &symbols) {
  uint64_t hash = 0xcbf29ce484222325;
  for (std::optional<int64_t> symbol : symbols)
    hash = (hash ^ static_cast<uint64_t>(symbol.value_or(-1))) * 0x100000001b3;
  return hash;
}

void EmbeddedProgram::requireProducts() const {
  for (const LossInfo &loss : model().losses)
    if (!program::isLoss(loss.kind, program::LossKind::VJP))
      throw UsageError(text("forward and backward apart need a program compiled with --loss=vjp, "
                            "found the loss ",
                            loss.kind));
}

uint32_t EmbeddedProgram::numberOf(const std::string &function) const {
  std::string variant = function.substr(function.find('.') + 1);
  const std::vector<VariantInfo> &all = model().variants;
  auto found = std::find_if(all.begin(), all.end(),
                            [&](const VariantInfo &info) { return info.name == variant; });
  return static_cast<uint32_t>(found - all.begin());
}

uint64_t EmbeddedProgram::residualBytes(const ArrayArguments &arguments) {
  requireProducts();
  CallArguments own = takeParameters(arguments);
  BatchArguments batch = matchArguments(model(), own.arrays, LossArrays::Ignored);
  return sizeof(ResidualHeader) +
         find("forward", batch, LossArrays::Ignored).residuals().elements();
}

void EmbeddedProgram::forward(const ArrayArguments &arguments, const ArrayArguments &outputs,
                              const ArrayArgument &residuals) {
  requireProducts();
  CallArguments own = takeParameters(arguments);
  EmbeddedCall &call = prepare("forward", own.arrays, LossArrays::Ignored);
  requireOutputs(call, outputs);
  ResidualBlock block(residuals);
  uint64_t bytes = call.residuals().elements();
  block.requireSize(bytes);
  ResidualHeader header = {ResidualHeader::started, program.checksum, numberOf(call.function()),
                           hashSizes(call.arrays().symbols), bytes};
  block.setHeader(header);
  lendParameters(call, own);
  bool isCopied = !call.redirect("residuals", block.data());
  takeReportedResiduals();
  runOutputs(call, outputs);
  header.bytes = takeReportedResiduals().value_or(bytes);
  if (isCopied)
    std::copy_n(call.residuals().data.data(), header.bytes, block.data());
  header.state = ResidualHeader::complete;
  block.setHeader(header);
}

uint64_t EmbeddedProgram::usedResidualBytes(const ArrayArgument &residuals) const {
  requireProducts();
  return sizeof(ResidualHeader) + ResidualBlock(residuals).finishedHeader().bytes;
}

ArrayArguments EmbeddedProgram::toTargets(const EmbeddedCall &forward,
                                          const ArrayArguments &cotangents,
                                          std::vector<Buffer> &zeros) const {
  ArrayArguments targets;
  size_t used = 0;
  for (const LossInfo &loss : model().losses) {
    const std::vector<int64_t> &shape = forward.result("output:" + loss.output).shape;
    auto given = std::find_if(cotangents.begin(), cotangents.end(),
                              [&](const ArrayArgument &one) { return one.name == loss.output; });
    if (given != cotangents.end()) {
      requireShape(*given, DType::F32, shape);
      targets.push_back(*given);
      ++used;
    } else {
      zeros.emplace_back(elementCount(shape) * sizeof(float));
      targets.push_back({"", zeros.back().data(), DType::F32, shape, /*strides=*/{}});
    }
    targets.back().name = loss.target->name;
  }
  if (used != cotangents.size())
    throw UsageError(
        text("a cotangent is named twice, or after none of the outputs ", model().lossOutputs()));
  return targets;
}

ArrayArguments EmbeddedProgram::redirectGradients(EmbeddedCall &call,
                                                  const ArrayArguments &results) {
  ArrayArguments copied;
  for (const ArrayArgument &result : results) {
    std::optional<size_t> index = findParameter(result.name);
    // Frozen rows are masked in the program's memory.
    bool isDirect = result.isUsable(DType::F32) &&
                    (!index || model().parameters[*index].frozenRows.empty()) &&
                    (index ? call.lend("grad:" + result.name, result.data)
                           : call.redirect("input_grad:" + result.name, result.data));
    if (!isDirect)
      copied.push_back(result);
  }
  return copied;
}

void EmbeddedProgram::backward(const ArrayArguments &arguments, const ArrayArgument &residuals,
                               const ArrayArguments &cotangents, const ArrayArguments &results) {
  requireProducts();
  ResidualBlock block(residuals);
  ResidualHeader header = block.finishedHeader();
  if (header.program != program.checksum || header.variant >= model().variants.size())
    throw UsageError("the residuals belong to another program, or to none");
  CallArguments own = takeParameters(arguments);
  BatchArguments batch = matchArguments(model(), own.arrays, LossArrays::Ignored);
  EmbeddedCall &forward = find("forward", batch, LossArrays::Ignored);
  if (header.sizes != hashSizes(forward.arrays().symbols))
    fail("the residuals belong to arrays of other sizes");
  std::vector<Buffer> zeros;
  for (ArrayArgument &target : toTargets(forward, cotangents, zeros))
    own.arrays.push_back(std::move(target));
  EmbeddedCall &call =
      prepare("backward." + model().variants[header.variant].name, own.arrays, LossArrays::Needed);
  requireGradients(call, results);
  if (!call.redirect("residuals", block.data()))
    std::copy_n(block.data(), header.bytes, call.residuals().data.data());
  lendParameters(call, own);
  ArrayArguments copied = redirectGradients(call, results);
  call.run();
  session->parameters.maskGradients();
  writeGradients(call, copied);
}
