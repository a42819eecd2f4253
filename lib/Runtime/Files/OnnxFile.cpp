//===- OnnxFile.cpp - Saving a trained ONNX model -------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "Files/OnnxFile.h"
#include "bppsa/Runtime/Files/AtomicFile.h"

#include <cstring>

using namespace bppsa::runtime;

void bppsa::runtime::saveOnnx(const std::string &path, const Model &model,
                              const unsigned char *onnx, uint64_t size,
                              const Parameters &parameters) {
  std::vector<unsigned char> bytes(onnx, onnx + size);
  for (size_t index = 0; index < model.parameters.size(); ++index) {
    const ParameterInfo &info = model.parameters[index];
    const float *values = parameters.values(index);
    for (int64_t i = 0; info.changes() && i < info.elements; ++i)
      memcpy(bytes.data() + info.offset + i * info.stride, values + i, sizeof(float));
  }
  AtomicFile file(path);
  file.write(bytes.data(), bytes.size());
  file.commit();
}
