# HEDDLE_SANITIZE: empty, "address" (with undefined) or "thread". HEDDLE_FUZZ needs clang.
set(HEDDLE_SANITIZE "" CACHE STRING "Sanitizer: address or thread")
option(HEDDLE_FUZZ "Build the libFuzzer targets (clang only)" OFF)

add_compile_options(-Wall -Wextra -Werror -fno-strict-overflow)
set(CMAKE_CXX_FLAGS_RELWITHDEBINFO "-O3 -g1 -DNDEBUG")

if(HEDDLE_SANITIZE STREQUAL "address")
  add_compile_options(-fsanitize=address,undefined -fno-sanitize-recover=undefined
                      -fno-omit-frame-pointer)
  add_link_options(-fsanitize=address,undefined)
elseif(HEDDLE_SANITIZE STREQUAL "thread")
  # The sanitizer knows no fences (-Wtsan): they only matter where two threads look whether the other
  # one sleeps. With C11 atomics in DPDK's inline rings it sees what they order.
  add_compile_options(-fsanitize=thread -fno-omit-frame-pointer
                      $<$<CXX_COMPILER_ID:GNU>:-Wno-tsan>)
  add_compile_definitions(RTE_USE_C11_MEM_MODEL=1)
  add_link_options(-fsanitize=thread)
elseif(NOT HEDDLE_SANITIZE STREQUAL "")
  message(FATAL_ERROR "HEDDLE_SANITIZE=${HEDDLE_SANITIZE}: expected address or thread")
endif()

if(HEDDLE_FUZZ)
  if(NOT CMAKE_CXX_COMPILER_ID MATCHES Clang)
    message(FATAL_ERROR "HEDDLE_FUZZ needs clang++ (libFuzzer)")
  endif()
  add_compile_options(-fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=undefined)
  add_link_options(-fsanitize=address,undefined)
endif()
