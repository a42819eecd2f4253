//===- Program.cpp - compiled programs and their arrays -------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "ProgramHandle.h"
#include "Tensors.h"

using namespace bppsa;
using namespace bppsa::capi;
using namespace bppsa::runtime;

BppsaProgramOpaque::BppsaProgramOpaque(Program loaded, std::shared_ptr<void> code)
    : code(std::move(code)), program(std::move(loaded)) {
  describeArrays();
  viewParameters();
}

void BppsaProgramOpaque::add(BppsaArrayKind kind, const ArrayInfo &array, bool isOptional) {
  ArrayText &text = arrays[kind].emplace_back();
  text.name = array.name;
  text.carried = array.carried;
  for (const Extent &extent : array.shape)
    text.shape.push_back(extent.kind == Extent::Kind::Number ? extent.number : -1);
  DType dtype = kind == BppsaGradient ? DType::F32 : array.dtype;
  text.info = {text.name.c_str(),
               toDLDataType(dtype),
               static_cast<int32_t>(text.shape.size()),
               text.shape.data(),
               static_cast<int32_t>(array.batchAxis.value_or(-1)),
               static_cast<int32_t>(array.timeAxis.value_or(-1)),
               /*isTrained=*/false,
               isOptional,
               array.carried.empty() ? nullptr : text.carried.c_str()};
}

void BppsaProgramOpaque::addParameter(BppsaArrayKind kind, const ParameterInfo &parameter) {
  ArrayText &text = arrays[kind].emplace_back();
  text.name = parameter.name;
  text.shape = parameter.shape;
  text.info = {text.name.c_str(),
               toDLDataType(DType::F32),
               static_cast<int32_t>(text.shape.size()),
               text.shape.data(),
               -1,
               -1,
               parameter.trained,
               /*isOptional=*/false,
               nullptr};
}

void BppsaProgramOpaque::describeArrays() {
  const Model &model = program.model();
  for (const ArrayInfo &info : model.inputs)
    add(BppsaInput, info, !info.carried.empty());
  for (const ArrayInfo &info : model.outputs)
    add(BppsaOutput, info, false);
  for (const LossInfo &loss : model.losses) {
    if (loss.target)
      add(BppsaTarget, *loss.target, false);
    if (loss.readsWeight)
      add(BppsaTarget, *loss.weight, true);
  }
  for (const ParameterInfo &info : model.parameters) {
    addParameter(BppsaParameter, info);
    if (info.trained)
      addParameter(BppsaGradient, info);
  }
  for (const ArrayInfo &info : model.inputs)
    if (info.gradient)
      add(BppsaGradient, info, false);
}

void BppsaProgramOpaque::viewParameters() {
  for (size_t i = 0; i < arrays[BppsaParameter].size(); ++i) {
    ArrayText &text = arrays[BppsaParameter][i];
    views.push_back({program.parameter(i),
                     {kDLCPU, 0},
                     text.info.rank,
                     text.info.dtype,
                     text.shape.data(),
                     /*strides=*/nullptr,
                     /*byte_offset=*/0});
  }
}

BppsaStatus capi::createProgram(const ProgramInterface &interface, std::shared_ptr<void> code,
                                BppsaProgram *program) noexcept {
  return guard([&] {
    require(program, "the place for the program") =
        new BppsaProgramOpaque(Program::load(interface), std::move(code));
  });
}

void bppsaProgramDestroy(BppsaProgram program) {
  if (auto *other = findCounterpart(program, &bppsaProgramDestroy); other != &bppsaProgramDestroy)
    return other(program);
  delete program;
}

const char *bppsaProgramGetDescription(BppsaProgram program) {
  if (auto *other = findCounterpart(program, &bppsaProgramGetDescription);
      other != &bppsaProgramGetDescription)
    return other(program);
  return program ? program->program.description().c_str() : nullptr;
}

intptr_t bppsaProgramGetNumArrays(BppsaProgram program, BppsaArrayKind kind) {
  if (auto *other = findCounterpart(program, &bppsaProgramGetNumArrays);
      other != &bppsaProgramGetNumArrays)
    return other(program, kind);
  return program && kind >= BppsaInput && kind <= BppsaGradient
             ? static_cast<intptr_t>(program->arrays[kind].size())
             : 0;
}

const ArrayText &capi::findArray(BppsaProgram program, BppsaArrayKind kind, intptr_t index) {
  if (index < 0 || index >= bppsaProgramGetNumArrays(program, kind))
    throw UsageError(text("there is no array ", index, " of this type; the program has ",
                          bppsaProgramGetNumArrays(program, kind)));
  return program->arrays[kind][index];
}

BppsaStatus bppsaProgramGetArray(BppsaProgram program, BppsaArrayKind kind, intptr_t index,
                                 BppsaArrayInfo *info) {
  if (auto *other = findCounterpart(program, &bppsaProgramGetArray); other != &bppsaProgramGetArray)
    return relay(program, other(program, kind, index, info));
  return guard(
      [&] { require(info, "the place for the array") = findArray(program, kind, index).info; });
}
