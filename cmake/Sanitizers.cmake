# BPPSA_SANITIZE: the sanitizers that everything is built with, as -fsanitize= takes them:
# `address,undefined` or `thread`. Programs that bppsa-compile links get them as well.
set(BPPSA_SANITIZE "" CACHE STRING "Sanitizers to build with: 'address,undefined' or 'thread'")
set(BPPSA_SANITIZER_LINK_OPTIONS)
set(BPPSA_FIBER_OPTIONS)
if(NOT BPPSA_SANITIZE)
  return()
endif()

# Programs and shared libraries use the shared run time of the sanitizers, so that a process has it
# once and Python can preload it.
execute_process(
  COMMAND ${CMAKE_CXX_COMPILER} -print-runtime-dir
  OUTPUT_VARIABLE runtime_dir OUTPUT_STRIP_TRAILING_WHITESPACE)
set(BPPSA_SANITIZER_LINK_OPTIONS
  -fsanitize=${BPPSA_SANITIZE} -shared-libsan -Wl,-rpath,${runtime_dir})
add_link_options(${BPPSA_SANITIZER_LINK_OPTIONS})

# LLVM has no RTTI, which the checks `vptr` and `function` need.
add_compile_options(-fsanitize=${BPPSA_SANITIZE} -fno-sanitize=vptr,function
  -fno-sanitize-recover=all -fno-omit-frame-pointer -O1 -gline-tables-only)

# For code that runs on stacks of its own, as the emulator does. ThreadSanitizer keeps track of one
# stack a thread and crashes when calls and returns do not match; accesses are checked all the same.
if(BPPSA_SANITIZE STREQUAL thread)
  set(BPPSA_FIBER_OPTIONS -mllvm=-tsan-instrument-func-entry-exit=0)
endif()
