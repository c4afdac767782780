// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <motet/data/samples/classes.hpp>

#include <fuzz/data_targets.hpp>
#include <fuzz/mutate.hpp>
#include <unit/data/pairs.hpp>

using namespace motet;

namespace {
const std::string good =
    R"({"made_by": "x", "classes": [{"name": "red", "caption": "a red one"}, {"name": "blue", "caption": "a blue one"}],
                             "samples": {"k0": 0, "k1": 1, "k2": 1}})";
}

TEST_CASE("names, captions and the classes of samples") {
  const class_list classes = parse_classes(good);
  CHECK(classes.size() == 2);
  CHECK(classes.names[1] == "blue");
  CHECK(classes.captions[0] == "a red one");
  CHECK(classes.class_of("k2") == 1);
  CHECK(classes.class_of("none") == -1);
}

TEST_CASE("what is no list of classes is refused") {
  for (const char* bad : {"", "{}", "[]", R"({"classes": []})", R"({"classes": [], "samples": {}})",
                          R"({"classes": [{"name": "a"}], "samples": {}})",
                          R"({"classes": [{"name": "a", "caption": "b"}], "samples": {"k": 1}})",
                          R"({"classes": [{"name": "a", "caption": "b"}], "samples": {"k": -1}})",
                          R"({"classes": [{"name": "a", "caption": "b"}], "samples": {"k": 0.5}})"}) {
    CAPTURE(bad);
    CHECK(code_of([&] { parse_classes(bad); }) == "MT-D14");
  }
}

TEST_CASE("mutations are read or refused") {
  motet::isize refused = 0;
  for (std::uint64_t run = 0; run < 5000; ++run) refused += fuzz_classes(mutated({good}, run)) ? 0 : 1;
  CHECK(refused > 1000);
}
