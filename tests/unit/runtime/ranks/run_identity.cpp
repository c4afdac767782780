// SPDX-License-Identifier: Apache-2.0
#include <motet/runtime/ranks/run_identity.hpp>

#include <motet/schedule/core/compile.hpp>
#include <motet/schedule/write/one_f_one_b.hpp>
#include <motet/schedule/write/zero_bubble.hpp>

#include <doctest/doctest.h>

using namespace motet;

namespace {

run_identity of_program(const program& it, const std::string& model = "a model") {
  run_identity out;
  out.add(it);
  out.add_build();
  out.add("model", model);
  return run_identity::of_text(out.text());  // as another rank would get it
}
bool says(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("ranks that are alike have no differences") {
  const program one = compile(one_f_one_b::write({2, 4}));
  CHECK(run_identity::differences({}).empty());
  CHECK(run_identity::differences({of_program(one)}).empty());
  CHECK(run_identity::differences({of_program(one), of_program(one), of_program(one)}).empty());
}

TEST_CASE("the sentence says in what ranks differ, and which") {
  const program one = compile(one_f_one_b::write({2, 4})), other = compile(zb_h1::write({2, 4})),
                larger = compile(one_f_one_b::write({3, 4}));
  std::string text =
      run_identity::differences({of_program(one), of_program(one), of_program(other), of_program(one)});
  CAPTURE(text);
  CHECK(says(text, "of the program is "));
  CHECK(says(text, " on ranks 0, 1, 3; "));
  CHECK(says(text, " on rank 2"));
  text = run_identity::differences({of_program(larger), of_program(one)});
  CHECK(text == "the number of ranks is 3 on rank 0; 2 on rank 1");
  text = run_identity::differences({of_program(one, "tiny"), of_program(one, "large"), of_program(one, "")});
  CHECK(text == "the model is tiny on rank 0; large on rank 1; nothing on rank 2");
}

TEST_CASE("what one rank does not tell at all is a difference") {
  run_identity with, without;
  with.add("plan", "one");
  CHECK(run_identity::differences({without, with}) == "the plan is not told on rank 0; one on rank 1");
}

TEST_CASE("long texts and many camps stay short") {
  const auto text_of = [](char letter) {
    run_identity out;
    out.add("model", std::string(100000, letter) + '\0' + letter);
    return run_identity::of_text(out.text());
  };
  CHECK(run_identity::differences({text_of('a'), text_of('a')}).empty());
  const std::string text = run_identity::differences(
      {text_of('a'), text_of('b'), text_of('c'), text_of('d'), text_of('e'), text_of('f')});
  CHECK(text.size() < 200);
  CHECK(says(text, "; and others elsewhere"));
}

TEST_CASE("lists of ranks are short") {
  CHECK(run_identity::list_ranks({4}) == "rank 4");
  CHECK(run_identity::list_ranks({0, 1, 2, 5, 7, 8, 9, 10}) == "ranks 0 to 2, 5, 7 to 10");
  CHECK(run_identity::list_ranks({0, 1}) == "ranks 0, 1");
}
