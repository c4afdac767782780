// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <doctest/doctest.h>

#include <motet/backend/groups/concepts.hpp>
#include <motet/tensor/random.hpp>

#include <algorithm>
#include <stdexcept>
#include <string>
#include <vector>

// Every transport must obey these laws. A launcher says how ranks come to life:
//
//   launcher.run(ranks, messages, meetings, body)
//       calls body(scene) on every rank, at the same time, and throws what a rank threw; ranks that do not
//       end in time are an error that names them
//   scene.end, scene.rank
//       the transport's end of this rank, with its first step begun
//   scene.next_step()
//       waits for all ranks and begins the next step
//   scene.stop()
//       tells all ranks to stop
//   Launcher::stopped
//       what pause() then throws
namespace motet::laws {

struct broken_law : std::runtime_error {
  using std::runtime_error::runtime_error;
};
// Assertions of test frameworks are not for many threads at once.
inline void demand(bool holds, const char* law) {
  if (!holds) throw broken_law(law);
}

using meeting_list = std::vector<std::vector<std::int32_t>>;

// Tries until it works, asleep in between.
template <class End, class Try>
void until(End& end, Try&& attempt) {
  for (;;) {
    const std::uint32_t seen = end.observe();
    if (attempt()) return;
    end.pause(seen);
  }
}

// Message `tag` of a step says this: neither its size nor a byte of it is that of another.
inline std::vector<std::byte> message_text(std::int32_t tag, int step, isize bytes) {
  std::vector<std::byte> text(static_cast<std::size_t>(bytes));
  for (std::size_t i = 0; i < text.size(); ++i)
    text[i] = static_cast<std::byte>(static_cast<std::size_t>(tag * 31 + step * 17) + i * 7 + (i >> 8));
  return text;
}
template <class End>
void receive_and_compare(End& end, std::int32_t tag, std::int32_t peer, int step, isize bytes) {
  std::vector<std::byte> got(static_cast<std::size_t>(bytes) + 1, std::byte{0x5a});
  until(end, [&] { return end.receive(tag, peer, got.data(), bytes); });
  demand(got.back() == std::byte{0x5a}, "a receive writes no more than its bytes");
  got.pop_back();
  demand(got == message_text(tag, step, bytes), "rows arrive as they left");
}

template <class Launcher>
void transport_laws(Launcher launcher) {
  SUBCASE("ends know themselves") {
    launcher.run(5, 0, meeting_list{}, [](auto& scene) {
      demand(scene.end.rank() == scene.rank, "an end knows its rank");
      demand(scene.end.ranks() == 5, "an end knows how many there are");
    });
  }

  SUBCASE("messages of any size are matched by tag alone, whatever the order") {
    const std::vector<isize> sizes{1, 0, 64, 3, 100000, 0, 4097, 12};
    launcher.run(2, static_cast<std::int32_t>(sizes.size()), meeting_list{}, [&](auto& scene) {
      const auto count = static_cast<std::int32_t>(sizes.size());
      const auto size = [&](std::int32_t tag) { return sizes[static_cast<std::size_t>(tag)]; };
      if (scene.rank == 0) {
        std::vector<std::vector<std::byte>> texts;
        for (std::int32_t tag = 0; tag < count; ++tag) texts.push_back(message_text(tag, 0, size(tag)));
        for (std::int32_t tag = 0; tag < count; ++tag)
          scene.end.send(tag, 1, texts[static_cast<std::size_t>(tag)].data(), size(tag));
        for (std::int32_t tag = 0; tag < count; ++tag) until(scene.end, [&] { return scene.end.sent(tag); });
      } else {
        for (std::int32_t tag = count; tag-- > 0;) receive_and_compare(scene.end, tag, 0, 0, size(tag));
      }
    });
  }

  SUBCASE("nothing is there before it is sent, and its rows may be used again once it was") {
    launcher.run(2, 2, meeting_list{}, [](auto& scene) {
      auto text = message_text(0, 1, 33);
      std::byte nothing{};
      if (scene.rank == 1) demand(!scene.end.receive(0, 0, &nothing, 1), "nothing comes unasked");
      scene.next_step();
      if (scene.rank == 0) {
        scene.end.send(0, 1, text.data(), 33);
        scene.end.send(1, 1, nullptr, 0);
        until(scene.end, [&] { return scene.end.sent(0); });
        std::fill(text.begin(), text.end(), std::byte{});
        until(scene.end, [&] { return scene.end.sent(1); });
      } else {
        until(scene.end, [&] { return scene.end.receive(1, 0, nullptr, 0); });
        receive_and_compare(scene.end, 0, 0, 1, 33);
      }
    });
  }

  SUBCASE("a gather brings the bytes of all members, in their order, to each of them and to nobody else") {
    // Some ranks are in several meetings, one in none; the order of members is not that of ranks.
    launcher.run(5, 0, meeting_list{{0, 1, 3}, {3, 0}, {4, 3, 1, 0}}, [](auto& scene) {
      const meeting_list all{{0, 1, 3}, {3, 0}, {4, 3, 1, 0}};
      for (int step = 0; step < 3; ++step) {
        std::vector<std::vector<std::byte>> own;
        for (std::int32_t m = 0; m < 3; ++m) own.push_back(message_text(100 * m + scene.rank, step, 24));
        for (std::int32_t m = 0; m < 3; ++m) {
          const auto& members = all[static_cast<std::size_t>(m)];
          std::int32_t member = -1;
          for (std::size_t k = 0; k < members.size(); ++k)
            if (members[k] == scene.rank) member = static_cast<std::int32_t>(k);
          if (member < 0) continue;
          std::vector<std::byte> got(24 * members.size()), wanted;
          for (const std::int32_t each : members)
            for (const std::byte b : message_text(100 * m + each, step, 24)) wanted.push_back(b);
          until(scene.end, [&] {
            return scene.end.gather(m, member, own[static_cast<std::size_t>(m)].data(), 24, got.data());
          });
          demand(got == wanted, "a gather brings what the members have");
        }
        // Bytes that a gather reads stay as they are until then.
        scene.next_step();
      }
    });
  }

  SUBCASE("an exchange brings each member its own range of what the others have") {
    const meeting_list all{{2, 0, 3}, {0, 1, 2, 3}};
    launcher.run(4, 0, all, [&](auto& scene) {
      // Member a has this range for member b: some overlap, some are empty, and where they land is the
      // receiver's choice.
      const auto range = [](isize a, isize b, int step) {
        return byte_range{7 * b, (a * 5 + b * 3 + step) % 4 * 11};
      };
      for (int step = 0; step < 3; ++step) {
        std::vector<std::vector<std::byte>> own;
        std::vector<std::vector<byte_range>> out(all.size()), in(all.size());
        for (std::int32_t m = 0; m < 2; ++m) {
          own.push_back(message_text(100 * m + scene.rank, step, 64));
          const auto at = static_cast<std::size_t>(m);
          const auto& members = all[at];
          const auto size = static_cast<isize>(members.size());
          const auto member = static_cast<std::int32_t>(
              std::find(members.begin(), members.end(), scene.rank) - members.begin());
          if (member == size) continue;
          for (isize k = 0; k < size; ++k) {
            out[at].push_back(range(member, k, step));
            in[at].push_back({(size - 1 - k) * 40, range(k, member, step).bytes});
          }
          std::vector<std::byte> got(static_cast<std::size_t>(size * 40), std::byte{0x5a}), wanted = got;
          for (isize k = 0; k < size; ++k) {
            const auto text = message_text(100 * m + members[static_cast<std::size_t>(k)], step, 64);
            const byte_range from = range(k, member, step);
            std::copy_n(text.begin() + from.offset, from.bytes,
                        wanted.begin() + in[at][static_cast<std::size_t>(k)].offset);
          }
          until(scene.end, [&] {
            return scene.end.exchange(m, member, own.back().data(), out[at], got.data(), in[at]);
          });
          demand(got == wanted, "an exchange brings what each member has for this one, and nothing else");
        }
        scene.next_step();
      }
    });
  }

  SUBCASE("an exchange may be asked for from one member at a time, in any order") {
    const meeting_list all{{2, 0, 3}, {0, 1, 2, 3}};
    launcher.run(4, 0, all, [&](auto& scene) {
      const auto range = [](isize a, isize b, int step) {
        return byte_range{5 * b, (a * 3 + b * 5 + step) % 4 * 13};
      };
      for (int step = 0; step < 3; ++step) {
        std::vector<std::vector<std::byte>> own(all.size());
        std::vector<std::vector<byte_range>> out(all.size());
        for (std::int32_t m = 0; m < 2; ++m) {
          const auto at = static_cast<std::size_t>(m);
          const auto& members = all[at];
          const auto size = static_cast<std::int32_t>(members.size());
          const auto member = static_cast<std::int32_t>(
              std::find(members.begin(), members.end(), scene.rank) - members.begin());
          if (member == size) continue;
          own[at] = message_text(100 * m + scene.rank, step, 64);
          for (std::int32_t k = 0; k < size; ++k) out[at].push_back(range(member, k, step));
          // A member that wants nothing still shows what it has.
          demand(scene.end.fetch(m, member, own[at].data(), out[at], member, nullptr, 0),
                 "showing waits for nobody");
          std::vector<std::byte> kept(2 * 64);  // two at a time
          for (std::int32_t turn = 1; turn < size; ++turn) {
            const auto ask = [&](std::int32_t which) {
              const std::int32_t from = (member + size - which) % size;
              return scene.end.fetch(m, member, own[at].data(), out[at], from, kept.data() + which % 2 * 64,
                                     range(from, member, step).bytes);
            };
            if (turn + 1 < size && (step + turn) % 2 == 0) ask(turn + 1);
            if (range((member + size - turn) % size, member, step).bytes == 0) continue;
            until(scene.end, [&] { return ask(turn); });
            const std::int32_t from = (member + size - turn) % size;
            const byte_range wanted = range(from, member, step);
            const auto text = message_text(100 * m + members[static_cast<std::size_t>(from)], step, 64);
            demand(std::equal(text.begin() + wanted.offset, text.begin() + wanted.offset + wanted.bytes,
                              kept.begin() + turn % 2 * 64),
                   "what is asked for comes from whom it was asked");
          }
        }
        scene.next_step();
      }
    });
  }

  SUBCASE("a gather waits for its last member") {
    launcher.run(3, 1, meeting_list{{0, 1}}, [](auto& scene) {
      if (scene.rank == 2) {
        // Member 1 waits for this.
        scene.end.send(0, 1, nullptr, 0);
      } else if (scene.rank == 1) {
        until(scene.end, [&] { return scene.end.receive(0, 2, nullptr, 0); });
        until(scene.end, [&] { return scene.end.gather(0, 1, nullptr, 0, nullptr); });
      } else {
        until(scene.end, [&] { return scene.end.gather(0, 0, nullptr, 0, nullptr); });
      }
    });
  }

  SUBCASE("tags are used again in every step") {
    launcher.run(3, 3, meeting_list{{0, 1, 2}}, [](auto& scene) {
      const std::int32_t next = (scene.rank + 1) % 3, before = (scene.rank + 2) % 3;
      for (int step = 0; step < 200; ++step) {
        const auto text = message_text(scene.rank, step, 40);
        scene.end.send(scene.rank, next, text.data(), 40);
        receive_and_compare(scene.end, before, before, step, 40);
        until(scene.end, [&] { return scene.end.gather(0, scene.rank, nullptr, 0, nullptr); });
        until(scene.end, [&] { return scene.end.sent(scene.rank); });
        scene.next_step();
      }
    });
  }

  SUBCASE("no bell is missed") {
    launcher.run(2, 4000, meeting_list{}, [](auto& scene) {
      const std::int32_t peer = 1 - scene.rank;
      for (std::int32_t tag = 0; tag < 4000; ++tag) {
        if (tag % 2 == scene.rank) scene.end.send(tag, peer, nullptr, 0);
        else until(scene.end, [&] { return scene.end.receive(tag, peer, nullptr, 0); });
      }
    });
  }

  SUBCASE("stop wakes everybody, and keeps from sleeping whoever comes later") {
    launcher.run(6, 1, meeting_list{{0, 1, 2, 3, 4, 5}}, [](auto& scene) {
      bool woken = false;
      try {
        if (scene.rank == 3) scene.stop();
        // Nobody sends this, and rank 3 does not come to the meeting.
        if (scene.rank % 2 == 0)
          until(scene.end, [&] { return scene.end.gather(0, scene.rank, nullptr, 0, nullptr); });
        else until(scene.end, [&] { return scene.end.receive(0, 0, nullptr, 0); });
      } catch (const typename Launcher::stopped&) {
        woken = true;
      }
      demand(woken, "pause() ends for all when they are told to stop");
    });
  }

  SUBCASE("any number of ranks, messages in any order") {
    for (const int ranks : {2, 3, 5, 16}) {
      CAPTURE(ranks);
      constexpr std::int32_t messages = 300;
      const random_stream draws(static_cast<std::uint64_t>(ranks), "messages");
      const auto draw = [&draws](std::int32_t tag, int which, std::uint32_t bound) {
        return static_cast<std::int32_t>(draws.below(static_cast<std::uint64_t>(4 * tag + which), bound));
      };
      const auto from = [&](std::int32_t tag) { return draw(tag, 0, static_cast<std::uint32_t>(ranks)); };
      const auto to = [&](std::int32_t tag) {
        return (from(tag) + 1 + draw(tag, 1, static_cast<std::uint32_t>(ranks - 1))) % ranks;
      };
      const auto size = [&](std::int32_t tag) { return isize{draw(tag, 2, 700)}; };
      launcher.run(ranks, messages, meeting_list{}, [&](auto& scene) {
        for (int step = 0; step < 3; ++step) {
          std::vector<std::vector<std::byte>> texts(messages);
          std::vector<std::int32_t> mine;  // what this rank sends or receives, in an order of its own
          for (std::int32_t tag = 0; tag < messages; ++tag)
            if (from(tag) == scene.rank || to(tag) == scene.rank) mine.push_back(tag);
          for (std::size_t i = mine.size(); i > 1; --i)
            std::swap(mine[i - 1], mine[draws.below(static_cast<std::uint64_t>(5000 + scene.rank * 1000) + i,
                                                    static_cast<std::uint32_t>(i))]);
          std::vector<std::vector<std::byte>> got(messages);
          std::size_t left = mine.size();
          std::vector<bool> done(messages, false);
          until(scene.end, [&] {
            for (const std::int32_t tag : mine) {
              const auto at = static_cast<std::size_t>(tag);
              if (done[at]) continue;
              if (from(tag) == scene.rank) {
                if (texts[at].empty()) {
                  texts[at] = message_text(tag, step, size(tag) + 1);
                  scene.end.send(tag, to(tag), texts[at].data(), size(tag) + 1);
                }
                done[at] = scene.end.sent(tag);
              } else {
                got[at].resize(static_cast<std::size_t>(size(tag) + 1));
                done[at] = scene.end.receive(tag, from(tag), got[at].data(), size(tag) + 1);
                if (done[at])
                  demand(got[at] == message_text(tag, step, size(tag) + 1), "rows arrive as they left");
              }
              if (done[at]) --left;
            }
            return left == 0;
          });
          scene.next_step();
        }
      });
    }
  }
}

}  // namespace motet::laws
