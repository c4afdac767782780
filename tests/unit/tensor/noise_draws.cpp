// SPDX-License-Identifier: Apache-2.0
#include <motet/tensor/noise_draws.hpp>

#include <doctest/doctest.h>

using namespace motet;

TEST_CASE("what is drawn of a picture follows from its place alone, and from seed and step") {
  const std::int32_t places[] = {9, 4, 7};
  const noise_draws all{.seed = 3, .step = 5}, some{.seed = 3, .step = 5, .first = 4},
      moved{.seed = 3, .step = 5, .first = 100, .places = places};
  CHECK(some.time(0) == all.time(4));
  CHECK(some.time(3) == all.time(7));
  CHECK(moved.time(1) == all.time(4));
  CHECK(moved.place(2) == 7);
  int differ = 0, forgotten = 0, same_noise = 0;
  double sum = 0;
  for (motet::isize s = 0; s < 4000; ++s) {
    const noise_draws other{.seed = 4, .step = 5}, later{.seed = 3, .step = 6};
    differ += all.time(s) != other.time(s) && all.time(s) != later.time(s) ? 1 : 0;
    forgotten += all.forgets_class(s, 0.25f) ? 1 : 0;
    sum += static_cast<double>(all.time(s));
    same_noise +=
        all.noise().word(static_cast<std::uint64_t>(s)) == later.noise().word(static_cast<std::uint64_t>(s))
            ? 1
            : 0;
  }
  CHECK(differ > 3990);
  CHECK(same_noise < 3);
  CHECK(sum / 4000 == doctest::Approx(0.5).epsilon(0.03));
  CHECK(forgotten / 4000.0 == doctest::Approx(0.25).epsilon(0.1));
}

TEST_CASE("where times are given nothing is drawn") {
  const float times[] = {0.25f, 1};
  const noise_draws given{.times = times};
  CHECK(given.given());
  CHECK(given.time(1) == 1);
  CHECK_FALSE(given.forgets_class(0, 1));
  CHECK(noise_draws{}.forgets_class(0, 1));
  CHECK_FALSE(noise_draws{}.forgets_class(0, 0));
}
