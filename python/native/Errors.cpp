//===- Errors.cpp - errors of the C API as exceptions ---------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "Errors.h"
#include <nanobind/nanobind.h>

namespace nb = nanobind;
using namespace bppsa::python;

void bppsa::python::raise(BppsaStatus status, const std::string &message) {
  const char *name = status == BppsaDiverged ? "DivergedError" : "Error";
  nb::object type = nb::module_::import_("bppsa.errors").attr(name);
  PyErr_SetString(type.ptr(), message.c_str());
  throw nb::python_error();
}

void bppsa::python::check(BppsaStatus status) {
  if (status == BppsaSuccess)
    return;
  if (status == BppsaInternalError && PyErr_Occurred())
    throw nb::python_error();
  raise(status, bppsaGetLastError());
}
