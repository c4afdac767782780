// SPDX-License-Identifier: Apache-2.0
// labels: threads
#include <motet/tools/process/long_work.hpp>

#include <doctest/doctest.h>

#include <memory>

using namespace motet;

namespace {

using file = std::unique_ptr<std::FILE, int (*)(std::FILE*)>;

std::string text_in(std::FILE* from) {
  std::string out(4096, '\0');
  std::rewind(from);
  out.resize(std::fread(out.data(), 1, out.size(), from));
  return out;
}

}  // namespace

TEST_CASE("short work says nothing") {
  const file out(std::tmpfile(), std::fclose);
  REQUIRE(out);
  {
    long_work work("planner", out.get(), 1000);
    work.at("looking around");
    work.finish();
    CHECK(work.seconds() < 1000);
  }
  CHECK(text_in(out.get()).empty());
}

TEST_CASE("long work says who does what, in whole lines, and nothing behind its end") {
  const file out(std::tmpfile(), std::fclose);
  REQUIRE(out);
  long_work work("planner", out.get(), 0.01);
  work.at("playing plans, 3 of 24");
  std::fseek(out.get(), 0, SEEK_END);
  while (std::ftell(out.get()) == 0) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    std::fseek(out.get(), 0, SEEK_END);
  }
  work.finish();
  work.at("nothing");
  const std::string text = text_in(out.get());
  CHECK(text.starts_with("planner: "));
  CHECK(text.find(" s, playing plans, 3 of 24\n") != std::string::npos);
  CHECK(text.find("nothing") == std::string::npos);
}
