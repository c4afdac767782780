// SPDX-License-Identifier: Apache-2.0
// labels: threads
#include <motet/runtime/save/pipeline_checkpoint.hpp>

#include <plan_laws.hpp>
#include <unit/format/scratch.hpp>

#include "halves.hpp"

// MOTET_TEST_PLANS: how many; MOTET_TEST_SEED: which. More of them than a test has time for.
namespace {
int number(const char* name, int usual) {
  const char* const text = std::getenv(name);
  return text != nullptr ? std::atoi(text) : usual;
}
using threads = thread_ranks<local::world, local::endpoint>;
}  // namespace

TEST_CASE("random plans equal the single rank") {
  plan_maker maker(static_cast<std::uint64_t>(number("MOTET_TEST_SEED", 1)), 16,
                   number("MOTET_TEST_CONTEXT", 3));
  const int count = number("MOTET_TEST_PLANS", 40);
  for (int i = 0; i < count; ++i) {
    const plan drawn = maker.make();
    if (laws::in_our_half(static_cast<std::uint64_t>(i))) compare<threads>(drawn);
  }
}

TEST_CASE("a plan goes on from another one's checkpoint") {
  plan_maker maker(static_cast<std::uint64_t>(number("MOTET_TEST_SEED", 2)), 12,
                   number("MOTET_TEST_CONTEXT", 3));
  for (int i = 0; i < 4; ++i) {
    const scratch folder;
    const int groups = 1 + i % 2;
    const plan first = maker.make(groups), second = maker.make(groups);
    // Of both numbers of losses, each sanitizer has one.
    if (laws::in_our_half(static_cast<std::uint64_t>(i / 2 + i)))
      go_on<threads>(first, second, folder.path());
  }
}
