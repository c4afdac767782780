// SPDX-License-Identifier: Apache-2.0
// labels: threads
#include <motet/runtime/ranks/far_mover.hpp>

#include <doctest/doctest.h>

#include <atomic>
#include <vector>

using namespace motet;

namespace {

struct bell {
  std::atomic<int> rung{0};
  void wake() {
    ++rung;
    rung.notify_all();
  }
};

}  // namespace

TEST_CASE("a mover moves beside its rank and wakes it") {
  bell end;
  far_memory far(1 << 16);
  std::vector<std::byte> kept(1 << 16, std::byte{3}), back(1 << 16);
  far_mover by(end);
  for (const far_move& each :
       {far_move{&far, 0, kept.data(), 1 << 16, true}, far_move{&far, 0, back.data(), 1 << 16, false}}) {
    const int before = end.rung;
    CHECK_FALSE(by.is_busy());
    CHECK_FALSE(by.moved(each));
    CHECK(by.is_busy());
    end.rung.wait(before);
    CHECK(by.moved(each));
  }
  CHECK(back == kept);
  // One that nobody waits for is over before memory may go.
  CHECK_FALSE(by.moved({&far, 0, kept.data(), 1 << 16, true}));
  by.rest();
  CHECK_FALSE(by.is_busy());
}

TEST_CASE("what goes wrong is told to who asks") {
  bell end;
  far_memory far(16, "/tmp");
  std::byte kept[16] = {};
  far_mover by(end);
  // There is no such address for the file to read.
  const far_move wrong{&far, 0, reinterpret_cast<std::byte*>(std::uintptr_t{4096}), 16, true};
  CHECK_FALSE(by.moved(wrong));
  end.rung.wait(0);
  CHECK_THROWS_WITH_AS(by.moved(wrong), doctest::Contains("MT-R70"), error);
  const int before = end.rung;
  CHECK_FALSE(by.moved({&far, 0, kept, 16, true}));
  end.rung.wait(before);
  CHECK(by.moved({&far, 0, kept, 16, true}));
}
