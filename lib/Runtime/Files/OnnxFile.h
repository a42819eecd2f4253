//===- OnnxFile.h - Saving a trained ONNX model ---------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_RUNTIME_FILES_ONNXFILE_H
#define BPPSA_LIB_RUNTIME_FILES_ONNXFILE_H

#include "bppsa/Runtime/Training/Parameters.h"

namespace bppsa::runtime {

/// Writes the original ONNX file with new trained values and running statistics.
void saveOnnx(const std::string &path, const Model &model, const unsigned char *onnx, uint64_t size,
              const Parameters &parameters);

} // namespace bppsa::runtime

#endif // BPPSA_LIB_RUNTIME_FILES_ONNXFILE_H
