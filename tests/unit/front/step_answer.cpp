// SPDX-License-Identifier: Apache-2.0
// labels: threads
#include <motet/front/step_answer.hpp>

#include <doctest/doctest.h>

#include <thread>

using namespace motet;

TEST_CASE("what was skipped is sent once, in messages that are whole by themselves") {
  tcp::listener door("127.0.0.1", 0);
  skip_log skips;
  for (isize s = 0; s < 1500; ++s) skips.report(skip::bad_picture, sentence({"sample ", s}), "cut", s);
  std::size_t told = 0;
  std::thread rank([&] {
    const tcp::connection there = tcp::reach(door.address(), tcp::deadline(5));
    told = production::send_skips(there, 7, skips, 0);
    told = production::send_skips(there, 7, skips, told);
  });
  tcp::connection here;
  while (!here) here = door.take();
  isize heard = 0;
  for (int message = 0; message < 2; ++message) {
    step_head head;
    production::get_all(here, std::as_writable_bytes(std::span(&head, 1)), 5, "a producer");
    REQUIRE(head.checksum == head.own_checksum());
    CHECK(head.kind == step_kind::skipped);
    CHECK(head.run == 7);
    std::string words(head.words, ' ');
    production::get_all(here, std::as_writable_bytes(std::span(words)), 5, "a producer");
    CHECK(head.words_checksum == checksum(std::string_view(words)));
    for (const skip_log::left_sample& each : read_skips(words, 1500)) CHECK(each.sample == heard++);
  }
  rank.join();
  CHECK(heard == 1500);
  CHECK(told == 1500);
}
