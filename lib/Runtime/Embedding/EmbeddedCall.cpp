//===- EmbeddedCall.cpp - A compiled function on caller arrays ------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Runtime/Embedding/EmbeddedCall.h"
#include "Files/PositionWeights.h"
#include "bppsa/Runtime/Device/Device.h"
#include "bppsa/Runtime/Error.h"
#include "bppsa/Runtime/Files/ArrayChecks.h"

#include <algorithm>

using namespace bppsa::runtime;

static const ArrayInfo *infoOf(const Model &model, size_t slot) {
  if (slot < model.inputs.size())
    return &model.inputs[slot];
  size_t place = slot - model.inputs.size();
  const LossInfo &loss = model.losses[place / 2];
  const std::optional<ArrayInfo> &info = place % 2 == 0 ? loss.target : loss.weight;
  return info ? &*info : nullptr;
}

static size_t countSlots(const Model &model) {
  return model.inputs.size() + 2 * model.losses.size();
}

/// isTaken(): callers may provide the array. isOptional(): they may omit it.
static bool isTaken(const Model &model, size_t slot) {
  if (!infoOf(model, slot))
    return false;
  bool isWeight = slot >= model.inputs.size() && (slot - model.inputs.size()) % 2 == 1;
  return !isWeight || model.losses[(slot - model.inputs.size()) / 2].readsWeight;
}
static bool isOptional(const Model &model, size_t slot) {
  if (slot < model.inputs.size())
    return !model.inputs[slot].carried.empty();
  return (slot - model.inputs.size()) % 2 == 1;
}

static std::vector<std::string> namesOf(const Model &model, LossArrays use) {
  std::vector<std::string> names;
  size_t end = use == LossArrays::Needed ? countSlots(model) : model.inputs.size();
  for (size_t slot = 0; slot < end; ++slot)
    if (isTaken(model, slot))
      names.push_back(infoOf(model, slot)->name);
  return names;
}

BatchArguments bppsa::runtime::matchArguments(const Model &model, const ArrayArguments &arguments,
                                              LossArrays use) {
  BatchArguments found(countSlots(model));
  for (const ArrayArgument &argument : arguments) {
    size_t slot = 0;
    while (slot < found.size() &&
           !(isTaken(model, slot) && infoOf(model, slot)->name == argument.name))
      ++slot;
    if (slot == found.size())
      throw UsageError(text("unknown array ", quote(argument.name), "; the model takes ",
                            list(namesOf(model, use))));
    if (found[slot])
      throw UsageError(text("array ", quote(argument.name), " is given twice"));
    found[slot] = &argument;
  }
  if (use == LossArrays::Ignored)
    std::fill(found.begin() + static_cast<int64_t>(model.inputs.size()), found.end(), nullptr);
  size_t end = use == LossArrays::Needed ? found.size() : model.inputs.size();
  for (size_t slot = 0; slot < end; ++slot)
    if (!found[slot] && isTaken(model, slot) && !isOptional(model, slot))
      fail("there is no array ", quote(infoOf(model, slot)->name), "; the model takes ",
           list(namesOf(model, use)));
  return found;
}

void EmbeddedCall::bindSizes(const BatchArguments &arguments) {
  batch.symbols.resize(model.symbols.size());
  std::vector<std::string> origin(batch.symbols.size());
  batch.samples = 1;
  for (size_t slot = 0; slot < arguments.size(); ++slot) {
    if (!arguments[slot])
      continue;
    const ArrayInfo &info = *infoOf(model, slot);
    requireType(*arguments[slot], info);
    const std::vector<int64_t> &shape = arguments[slot]->shape;
    std::string wrong = bindShape(model, info, shape, batch.symbols, origin);
    if (!wrong.empty())
      fail("array ", quote(info.name), ": ", wrong);
    given[slot] = shape;
    if (info.batchAxis)
      batch.samples = shape[*info.batchAxis];
  }
}

void EmbeddedCall::addArrays(const BatchArguments &arguments) {
  batch.inputs.resize(model.inputs.size());
  for (size_t slot = 0; slot < model.inputs.size() + 2 * batch.losses.size(); ++slot) {
    Array &array = batch.array(slot);
    if (const ArrayInfo *info = infoOf(model, slot)) {
      array.dtype = info->dtype;
      array.shape = given[slot] ? *given[slot] : model.extents(info->shape, batch.symbols);
      uint64_t bytes = array.elements() * elementSize(array.dtype);
      // Only fill() reads the caller's memory.
      array.data = given[slot] && !isDeviceProgram() ? Buffer::borrow(arguments[slot]->data, bytes)
                                                     : Buffer::borrow(ownMemory(slot), bytes);
    }
    batch.mirrors.emplace_back(array.data.data(), array.data.size());
  }
  for (size_t i = 0; i < batch.losses.size(); ++i)
    if (Array &weight = batch.losses[i].weight; model.losses[i].weight)
      if (size_t slot = model.inputs.size() + 2 * i + 1; !given[slot])
        std::fill_n(weight.as<float>(), weight.elements(), 1.0f);
}

std::byte *EmbeddedCall::ownMemory(size_t slot) {
  const Array &array = batch.array(slot);
  uint64_t bytes = array.elements() * elementSize(array.dtype);
  if (owned[slot].size() != bytes)
    owned[slot] = Buffer(bytes);
  return owned[slot].data();
}

/// In CPU programs, run() allocates results unless the caller provides them.
ViewTable EmbeddedCall::addResults(const FunctionTable &functions) {
  ViewTable views;
  auto add = [&](const std::string &argument, DType dtype, std::vector<int64_t> shape,
                 Access access) {
    Array &result = results[argument].array;
    result.dtype = dtype;
    result.shape = std::move(shape);
    if (isDeviceProgram())
      result.data = Buffer(result.elements() * elementSize(dtype));
    views[argument] = {result.data.data(), result.shape, elementSize(dtype), access};
  };
  for (const auto &[argument, number] : numbers) {
    const ArrayInfo *info = model.arrayOf(argument);
    if (argument.rfind("output:", 0) == 0)
      add(argument, info->dtype, model.extents(info->shape, batch.symbols), Access::Write);
    else if (argument.rfind("input_grad:", 0) == 0)
      add(argument, DType::F32, model.extents(info->shape, batch.symbols), Access::Write);
  }
  if (numbers.count("residuals")) {
    std::string writer = "forward" + name.substr(name.find('.'));
    add("residuals", DType::U8,
        {static_cast<int64_t>(functions.residualBytes(writer, batch.symbols))},
        name == writer ? Access::Write : Access::Read);
  }
  return views;
}

EmbeddedCall::EmbeddedCall(Session &session, const BatchArguments &arguments, LossArrays use,
                           const ChooseFunction &choose)
    : model(session.program.model), owned(arguments.size()), given(arguments.size()) {
  batch.losses.resize(use == LossArrays::Needed ? model.losses.size() : 0);
  bindSizes(arguments);
  addArrays(arguments);
  name = choose(batch);
  auto known = model.functions.find(name);
  if (known == model.functions.end())
    fail("this program has no function ", quote(name), "; compile the model again");
  for (size_t i = 0; i < known->second.size(); ++i)
    numbers[known->second[i]] = i;
  ViewTable views = addResults(session.program.functions);
  call = session.prepare(name, &batch, views);
}

bool EmbeddedCall::isFor(const BatchArguments &arguments) const {
  for (size_t slot = 0; slot < arguments.size(); ++slot)
    if (given[slot].has_value() != (arguments[slot] != nullptr) ||
        (arguments[slot] && *given[slot] != arguments[slot]->shape))
      return false;
  return true;
}

void EmbeddedCall::bind(const std::string &argument, void *data) {
  if (auto number = numbers.find(argument); number != numbers.end())
    call.bind(number->second, data);
}

void EmbeddedCall::use(size_t slot, std::byte *data) {
  Array &array = batch.array(slot);
  if (array.data.data() != data)
    array.data = Buffer::borrow(data, array.data.size());
  if (isDeviceProgram())
    return batch.mirrors[slot].hostChanged();
  bool isInput = slot < model.inputs.size();
  bind((isInput ? "input:" : "") + infoOf(model, slot)->name, data);
}

void EmbeddedCall::take(size_t slot, const ArrayArgument &argument) {
  Array &array = batch.array(slot);
  requireType(argument, *infoOf(model, slot));
  if (argument.isUsable(array.dtype) && !isDeviceProgram()) {
    use(slot, static_cast<std::byte *>(argument.data));
  } else if (argument.dtype == array.dtype) {
    argument.read(ownMemory(slot));
    use(slot, ownMemory(slot));
  } else {
    Buffer compact = Buffer::uninitialized(array.elements() * elementSize(argument.dtype));
    argument.read(compact.data());
    try {
      convert(compact.data(), argument.dtype, ownMemory(slot), array.dtype, array.elements(),
              [&](int64_t i) { return position(i, array.shape); });
    } catch (const Error &error) {
      fail("array ", quote(argument.name), ": ", error.what());
    }
    use(slot, ownMemory(slot));
  }
  requireValues(model, *infoOf(model, slot), array.data.data(), array.shape, batch.symbols);
}

void EmbeddedCall::maskLoss(size_t number) {
  const LossInfo &info = model.losses[number];
  Batch::Loss &loss = batch.losses[number];
  if (!info.weight || !derivesWeights(model, info))
    return;
  size_t targetSlot = model.inputs.size() + 2 * number;
  for (size_t slot : {targetSlot, targetSlot + 1}) {
    Array &array = batch.array(slot);
    std::byte *own = ownMemory(slot);
    if (slot != targetSlot && !given[slot])
      std::fill_n(reinterpret_cast<float *>(own), array.elements(), 1.0f);
    else if (array.data.data() != own)
      std::copy_n(array.data.data(), array.data.size(), own);
    use(slot, own);
  }
  float *weights = loss.weight.as<float>();
  ignoreTargets(model, info, loss.target.data.data(), weights, loss.weight.elements());
  const ArrayInfo *lengths = findLengths(model, info);
  if (!lengths)
    return;
  const Array &ends = batch.inputs[lengths - model.inputs.data()];
  auto strideOf = [&](int64_t axis) {
    int64_t stride = 1;
    for (size_t i = axis + 1; i < loss.weight.shape.size(); ++i)
      stride *= loss.weight.shape[i];
    return stride;
  };
  int64_t timeAxis = *info.target->timeAxis, batchAxis = *info.target->batchAxis;
  int64_t timeStride = strideOf(timeAxis), batchStride = strideOf(batchAxis);
  for (int64_t i = 0, end = loss.weight.elements(); i < end; ++i) {
    int64_t step = i / timeStride % loss.weight.shape[timeAxis];
    int64_t sample = i / batchStride % loss.weight.shape[batchAxis];
    if (step >= elementAt(ends.data.data(), ends.dtype, sample))
      weights[i] = 0;
  }
}

void EmbeddedCall::fill(const BatchArguments &arguments) {
  for (size_t slot = 0; slot < arguments.size(); ++slot)
    if (arguments[slot])
      take(slot, *arguments[slot]);
  for (size_t i = 0; i < batch.losses.size(); ++i)
    maskLoss(i);
  weighLosses(model, batch, [&](size_t number) {
    const LossInfo &loss = model.losses[number];
    return loss.weight &&
           ((loss.hasClasses() && !model.classWeights.empty()) ||
            given[model.inputs.size() + 2 * number + 1] || derivesWeights(model, loss));
  });
}

bool EmbeddedCall::redirect(const std::string &argument, void *data) {
  if (isDeviceProgram())
    return false;
  bind(argument, data);
  return results.at(argument).isRedirected = true;
}

bool EmbeddedCall::lend(const std::string &argument, void *data) {
  if (isDeviceProgram())
    return false;
  if (auto number = numbers.find(argument); number != numbers.end()) {
    lent.emplace_back(number->second, call.data(number->second));
    call.bind(number->second, data);
  }
  return true;
}

Array EmbeddedCall::takeResult(const std::string &argument) {
  Array &array = results.at(argument).array;
  // A GPU call keeps copying to this memory.
  Array taken{array.dtype, array.shape,
              isDeviceProgram() ? Buffer::uninitialized(array.data.size()) : std::move(array.data)};
  if (isDeviceProgram())
    std::copy_n(array.data.data(), array.data.size(), taken.data.data());
  else
    array.data = Buffer();
  return taken;
}

void EmbeddedCall::run() {
  for (auto &[argument, result] : results) {
    if (result.isRedirected || isDeviceProgram())
      continue;
    Array &array = result.array;
    if (uint64_t bytes = array.elements() * elementSize(array.dtype); array.data.size() != bytes)
      array.data = Buffer(bytes);
    bind(argument, array.data.data());
  }
  for (auto &[argument, result] : results)
    result.isRedirected = false;
  struct Return {
    ~Return() {
      for (; !own.lent.empty(); own.lent.pop_back())
        own.call.bind(own.lent.back().first, own.lent.back().second);
    }
    EmbeddedCall &own;
  } back{*this};
  call();
}
