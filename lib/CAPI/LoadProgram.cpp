//===- LoadProgram.cpp - loads programs from shared libraries -------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "Support.h"
#include "bppsa-c/Program.h"

#include <cstring>
#include <dlfcn.h>

using namespace bppsa::capi;

BppsaStatus bppsaProgramLoad(const char *path, BppsaProgram *program) {
  if (!path || !program)
    return setError(BppsaWrongUsage, "the path or the place for the program is null");
  std::string where = "'" + std::string(path) + "': ";
  // dlopen() searches names without a slash in system paths.
  std::string file = strchr(path, '/') ? path : "./" + std::string(path);
  void *library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library)
    return setError(BppsaWrongInput, where + "cannot be loaded: " + dlerror());
  auto *open = reinterpret_cast<decltype(&bppsaProgramOpen)>(dlsym(library, "bppsaProgramOpen"));
  auto *version = reinterpret_cast<decltype(&bppsaGetVersion)>(dlsym(library, "bppsaGetVersion"));
  auto *error = reinterpret_cast<decltype(&bppsaGetLastError)>(dlsym(library, "bppsaGetLastError"));
  if (!open || !version || !error)
    return setError(BppsaWrongInput, where + "is not a program compiled with --emit=shared");
  if (strcmp(version(), bppsaGetVersion()) != 0)
    return setError(BppsaWrongInput, where + "was compiled by version " + version() +
                                         ", this library has version " + bppsaGetVersion() +
                                         "; compile the model again");
  BppsaStatus status = open(program);
  return status == BppsaSuccess ? status : setError(status, where + error());
}
