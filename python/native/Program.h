//===- Program.h - Python bindings of programs ------------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_PYTHON_NATIVE_PROGRAM_H
#define BPPSA_PYTHON_NATIVE_PROGRAM_H

#include "bppsa-c/Program.h"
#include <nanobind/nanobind.h>

namespace bppsa::python {

/// Owns a program of the C API. Views of its parameters keep this object alive.
class Program {
public:
  explicit Program(BppsaProgram program) : program(program) {}
  Program(const Program &) = delete;
  Program &operator=(const Program &) = delete;
  ~Program() { bppsaProgramDestroy(program); }

  BppsaProgram get() const { return program; }

private:
  BppsaProgram program;
};

/// Defines the class `Program` and the function `load`.
void bindProgram(nanobind::module_ &module);

/// Defines the function `fit`.
void bindTraining(nanobind::module_ &module);

/// Defines the functions that compile.
void bindCompiler(nanobind::module_ &module);

/// Defines the functions for `bppsa.jax`, if the package is built with jaxlib.
void bindJax(nanobind::module_ &module);

} // namespace bppsa::python

#endif // BPPSA_PYTHON_NATIVE_PROGRAM_H
