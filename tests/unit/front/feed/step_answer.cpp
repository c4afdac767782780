// SPDX-License-Identifier: Apache-2.0
// labels: threads
#include <motet/front/feed/step_answer.hpp>

#include <doctest/doctest.h>

#include <thread>
#include <utility>

using namespace motet;

TEST_CASE("words and pictures are sent apart, with the checksum of the words on both") {
  tcp::listener door("127.0.0.1", 0);
  const std::byte pixels[] = {std::byte{1}, std::byte{2}, std::byte{3}, std::byte{4}, std::byte{5}};
  finished_step made;
  made.words = "the words";
  made.pixels = pixels;
  made.begins = {0, 2, 3, 5};
  made.words_checksum = 77;
  made.pixels_checksum = checksum(made.pixels);
  std::thread producer([&] {
    const tcp::connection there = tcp::reach(door.address(), tcp::deadline(5));
    for (const asked_parts parts : {asked_parts::words, asked_parts::pictures, asked_parts::all})
      production::send_step(there, 7, {3, step_share({{0, 1}, {2, 3}}), parts}, made);
    production::send_step(there, 7, {3, {}, asked_parts::pictures}, made);
  });
  tcp::connection here;
  while (!here) here = door.take();
  for (const auto& [words, bytes] :
       {std::pair<const char*, int>{"the words", 0}, {"", 4}, {"the words", 4}, {"", 5}}) {
    step_head head;
    production::get_all(here, std::as_writable_bytes(std::span(&head, 1)), 5, "a producer");
    std::string said(head.words, ' '), shown(head.pixels, ' ');
    production::get_all(here, std::as_writable_bytes(std::span(said)), 5, "a producer");
    production::get_all(here, std::as_writable_bytes(std::span(shown)), 5, "a producer");
    CHECK(said == words);
    CHECK(shown == (bytes == 0 ? "" : bytes == 4 ? "\1\2\4\5" : "\1\2\3\4\5"));
    CHECK(head.words_checksum == 77);
  }
  producer.join();
}

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
    for (const skip_log::reported& each : read_skips(words, 1500)) CHECK(each.sample == heard++);
  }
  rank.join();
  CHECK(heard == 1500);
  CHECK(told == 1500);
}
