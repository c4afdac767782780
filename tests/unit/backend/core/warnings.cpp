// SPDX-License-Identifier: Apache-2.0
#include <motet/backend/core/messages.hpp>
#include <motet/backend/core/warnings.hpp>

#include <doctest/doctest.h>

#include "support/cuda/in_child.hpp"

using namespace motet;

namespace {

// A process that is warned of three things, one of them twice, says this on stderr.
std::string said_with(const char* quiet) {
  return laws::in_child([&] {
           if (quiet != nullptr) ::setenv("MOTET_QUIET", quiet, 1);
           else ::unsetenv("MOTET_QUIET");
           warnings all;
           const bool news[] = {all.say(input_not_pinned, "limit", "64 bytes: no"),
                                all.say(input_not_pinned, "limit", "128 bytes: no"),
                                all.say(input_not_pinned, "kind", "64 bytes: of a file"),
                                all.say(fp8_not_used, "limit", "a product")};
           if (!news[0] || news[1] || !news[2] || !news[3] || all.said().size() != 3)
             std::fputs("WRONG", stderr);
         })
      .said;
}

}  // namespace

TEST_CASE("each kind of a row is said once, with its remedy and code") {
  const std::string said = said_with(nullptr);
  CHECK(said ==
        "motet: memory of the host could not be pinned, so inputs are copied twice: 64 bytes: no. Raise "
        "ulimit -l; MOTET_QUIET=1 says nothing "
        "[MT-B35]\n"
        "motet: memory of the host could not be pinned, so inputs are copied twice: 64 bytes: of a file. "
        "Raise ulimit -l; MOTET_QUIET=1 says "
        "nothing [MT-B35]\n"
        "motet: fp8 was asked for, and some products run without it: a product. Take sizes of a multiple of "
        "16 on such a chip, or ask for bf16; "
        "MOTET_QUIET=1 says nothing [MT-B34]\n");
  CHECK(said_with("0") == said);
}

TEST_CASE("MOTET_QUIET says nothing, and all is kept") { CHECK(said_with("1").empty()); }

TEST_CASE("what was forgotten is news again") {
  warnings all;
  ::setenv("MOTET_QUIET", "1", 1);
  CHECK(all.say(fp8_not_used, "chip", "old"));
  CHECK_FALSE(all.say(fp8_not_used, "chip", "old"));
  all.forget();
  CHECK(all.said().empty());
  CHECK(all.say(fp8_not_used, "chip", "old"));
  ::unsetenv("MOTET_QUIET");
}
