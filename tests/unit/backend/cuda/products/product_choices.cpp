// SPDX-License-Identifier: Apache-2.0
#include <motet/backend/cuda/products/product_choices.hpp>

#include <doctest/doctest.h>

#include "../../../../fuzz/mutate.hpp"
#include "../../../../fuzz/product_targets.hpp"

using motet::cuda::product_choices, motet::cuda::parse_product_choices;

namespace {

const product_choices some{
    "Fake GPU, sm_90, driver 13000, cuBLASLt 130000",
    {{"bf16 bf16 bf16 nothing, size 2 3 4", {0x0123456789abcdef, 0, ~0ull, 3, 4, 5, 6, 7}}, {"other", {}}}};

std::string wrong_with(const std::string& text) {
  product_choices untouched = some;
  std::string found = parse_product_choices(text, untouched);
  CHECK(untouched == some);
  return found;
}

}  // namespace

TEST_CASE("choices are lines, and come back as they were") {
  const std::string text = motet::cuda::format_product_choices(some);
  CHECK(text ==
        "motet products 1\n"
        "of Fake GPU, sm_90, driver 13000, cuBLASLt 130000\n"
        "bf16 bf16 bf16 nothing, size 2 3 4: 0123456789abcdef 0000000000000000 ffffffffffffffff "
        "0000000000000003 0000000000000004 "
        "0000000000000005 0000000000000006 0000000000000007\n"
        "other: 0000000000000000 0000000000000000 0000000000000000 0000000000000000 0000000000000000 "
        "0000000000000000 0000000000000000 "
        "0000000000000000\n"
        "end 2\n");
  product_choices found;
  CHECK(parse_product_choices(text, found).empty());
  CHECK(found == some);
}

TEST_CASE("a part of a file, or a file with more, is refused with its line") {
  const std::string text = motet::cuda::format_product_choices(some);
  for (std::size_t length = 0; length < text.size(); ++length)
    CHECK_FALSE(wrong_with(text.substr(0, length)).empty());
  CHECK(wrong_with("") == "line 1: a line of printable characters is missing");
  CHECK(wrong_with("motet products 2\n") == "line 1: got 'motet products 2', wanted 'motet products 1'");
  CHECK(wrong_with("motet products 1\nfor nobody\n") ==
        "line 2: wanted 'of', a GPU, its driver and its library");
  CHECK(wrong_with(text + "end 2\n") == "line 6: something stands behind the end");
  CHECK(wrong_with(text.substr(0, text.rfind("end"))) == "line 5: a line of printable characters is missing");
  const auto changed = [&](const std::string& from, const std::string& to) {
    std::string made = text;
    made.replace(made.find(from), from.size(), to);
    return wrong_with(made);
  };
  CHECK(changed("end 2", "end 3") ==
        "line 5: wanted a shape, a colon and eight words of sixteen digits, or 'end 2'");
  CHECK(changed("0123456789abcdef", "0123456789abcdeF") ==
        "line 3: an algorithm is eight words of sixteen digits, 0 to f");
  CHECK(changed("abcdef ", "abcdef0") == "line 3: an algorithm is eight words of sixteen digits, 0 to f");
  CHECK(changed("other", "bf16 bf16 bf16 nothing, size 2 3 4") == "line 4: this shape stands there twice");
  CHECK(changed("other:", ":") ==
        "line 4: wanted a shape, a colon and eight words of sixteen digits, or 'end 1'");
  CHECK(changed("other", "oth\ter") == "line 4: a line of printable characters is missing");
}

TEST_CASE("any bytes are read as a whole or refused as a whole") {
  const std::vector<std::string> seeds{motet::cuda::format_product_choices(some),
                                       motet::cuda::format_product_choices({"nothing", {}}), "end 0\n"};
  int read = 0;
  for (std::uint64_t n = 0; n < 20000; ++n) read += fuzz_product_choices(mutated(seeds, n)) ? 1 : 0;
  CHECK(read > 100);
  CHECK(read < 15000);
}
