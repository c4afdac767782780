// SPDX-License-Identifier: Apache-2.0
#include <motet/data/file.hpp>
#include <motet/runtime/ranks/build_identity.hpp>

#include <doctest/doctest.h>

using namespace motet;

TEST_CASE("a build tells version and compiler") {
  const std::string text = build_identity();
  CAPTURE(text);
  CHECK(text.starts_with("motet " + std::to_string(MOTET_VERSION_MAJOR) + "." +
                         std::to_string(MOTET_VERSION_MINOR) + "."));
#if defined(__clang__)
  CHECK(text.find("clang " + std::to_string(__clang_major__)) != std::string::npos);
#else
  CHECK(text.find("g++ " + std::to_string(__GNUC__)) != std::string::npos);
#endif
#if defined(__OPTIMIZE__)
  CHECK(text.find("optimised") != std::string::npos);
#else
  CHECK(text.find("optimised") == std::string::npos);
#endif
  CHECK(text == build_identity());
}

TEST_CASE("the file of the program is read, not its name") {
  // At once: a test program has 100 MB, and byte by byte they take ten seconds.
  const std::string bytes = read_text("/proc/self/exe");
  REQUIRE(bytes.size() > 1000);
  CHECK(program_file_checksum() == checksum(std::as_bytes(std::span(bytes))));
}
