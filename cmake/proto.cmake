# heddle_proto(<target> <dir/name.proto>): messages and gRPC stubs of one schema, as a static library;
# the path is relative to the repository and is also how C++ includes it ("dir/name.pb.h").
# Generated code is a system header to its users and is not held to our warnings.
function(heddle_proto target proto)
  string(REGEX REPLACE "\\.proto$" "" stem ${proto})
  set(out ${CMAKE_BINARY_DIR}/generated)
  file(MAKE_DIRECTORY ${out})
  find_program(GRPC_CPP_PLUGIN grpc_cpp_plugin REQUIRED)
  set(generated ${out}/${stem}.pb.cc ${out}/${stem}.pb.h ${out}/${stem}.grpc.pb.cc
                ${out}/${stem}.grpc.pb.h)
  add_custom_command(
    OUTPUT ${generated}
    COMMAND protobuf::protoc --proto_path=${CMAKE_SOURCE_DIR} --cpp_out=${out} --grpc_out=${out}
            --plugin=protoc-gen-grpc=${GRPC_CPP_PLUGIN} ${proto}
    DEPENDS ${CMAKE_SOURCE_DIR}/${proto}
    WORKING_DIRECTORY ${CMAKE_SOURCE_DIR}
    COMMENT "Generating ${proto}")
  add_library(${target} STATIC ${generated})
  target_include_directories(${target} SYSTEM PUBLIC ${out})
  target_link_libraries(${target} PUBLIC protobuf::libprotobuf PkgConfig::GRPC)
  target_compile_options(${target} PRIVATE -w)
endfunction()
