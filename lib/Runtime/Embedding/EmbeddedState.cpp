//===- EmbeddedState.cpp - Parameters, states and their files -------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "Files/OnnxFile.h"
#include "Training/Checkpoint.h"
#include "bppsa/Runtime/Embedding/EmbeddedProgram.h"

#include <algorithm>

using namespace bppsa::runtime;

void EmbeddedProgram::reset() {
  Session fresh(program, true);
  Parameters &to = session->parameters, &from = fresh.parameters;
  for (size_t i = 0; i < model().parameters.size(); ++i) {
    int64_t elements = model().parameters[i].elements;
    std::copy_n(from.values(i), elements, to.changeValues(i));
    for (size_t s = 0; model().parameters[i].trained && s < to.stateCount(); ++s)
      std::fill_n(to.changeState(s, i), elements, 0.0f);
  }
  steps = 0;
}

void EmbeddedProgram::save(const std::string &path) {
  saveOnnx(path, model(), program.onnx, program.onnxSize, session->parameters);
}

void EmbeddedProgram::saveCheckpoint(const std::string &path) {
  TrainState state;
  state.step = steps;
  writeCheckpoint(path, *session, trainingDefaults(), state);
}

void EmbeddedProgram::loadCheckpoint(const std::string &path) {
  TrainSettings settings;
  TrainState state;
  readCheckpoint(path, *session, settings, state);
  for (const auto &[name, value] : settings.hyper)
    if (hyper.count(name))
      hyper[name] = value;
  clipNorm = settings.clipNorm.value_or(0);
  seed = settings.seed;
  steps = state.earlier + state.step;
  session->parameters.dropAverage();
}
