//===- compile_models.cpp - compiles ONNX models in one process -----------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
//   compile_models MODEL.onnx...
//
// writes the trainable program of each model to the file MODEL of the current directory. Models are
// compiled at the same time, each by a thread of its own.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Compiler/Compiler.h"

#include <atomic>
#include <cstdio>
#include <filesystem>
#include <thread>

static bool compile(const std::string &path) {
  bppsa::CompileOptions options;
  options.training.optimizer = "sgd";
  options.runtimeLibrary = RUNTIME_LIBRARY;
  auto print = [&](const bppsa::CompileDiagnostic &diagnostic) {
    std::fprintf(stderr, "%s: %s\n", path.c_str(), diagnostic.message.c_str());
  };
  std::string program = std::filesystem::path(path).stem().string();
  return bppsa::compileModelToFile({path}, options, program, print);
}

int main(int argc, char **argv) {
  std::atomic<int> status = 0;
  std::vector<std::thread> threads;
  for (int i = 1; i < argc; ++i)
    threads.emplace_back([&status, path = std::string(argv[i])] {
      if (!compile(path))
        status = 1;
    });
  for (std::thread &thread : threads)
    thread.join();
  return status;
}
