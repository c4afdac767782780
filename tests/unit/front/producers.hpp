// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/format/files/atomic_file.hpp>
#include <motet/front/feed/produced_feed.hpp>
#include <motet/front/feed/sample_producer.hpp>

#include <unit/data/written_set.hpp>

#include <algorithm>
#include <atomic>
#include <functional>
#include <list>
#include <memory>

// What the tests of producers have in common: a data set on disk, and a wire that does harm.
namespace produced_tests {

// A folder of samples of any pieces, or of pairs, as a program's --data.
struct produced_set {
  static constexpr const char* token = "the token of this run";
  scratch folder;
  motet::data_wishes wishes;
  motet::sample_shape shape;

  explicit produced_set(bool pieces, const std::function<bool(motet::isize)>& damaged = {}) {
    if (pieces) {
      write_mixed(folder, "train-0.tar", 0, 40, {}, damaged);
    } else {
      write_pairs(folder, "train-0.tar", 0, 40, [&](motet::isize i, made_sample& made) {
        if (damaged && damaged(i)) made.picture.resize(40);
      });
    }
    motet::write_file(folder / "tokenizer.json", motet::format_tokenizer(pairs_tokenizer()));
    wishes.data = folder.path().string();
    wishes.batch = 7;
    shape = {.model = "a model",
             .image = 8,
             .vocabulary = 300,
             .context = 40,
             .pieces = pieces,
             .rows_of_picture = 5,
             .lead = 1,
             .most_pictures = 2};
  }
  motet::producer_options producer(std::uint16_t port = 0) const {
    return {.data = wishes.data, .port = port, .token = token, .threads = 2, .leave = 0.5};
  }
};

// A wire to a producer that may change what comes from it, hold it up, or be cut.
class bad_wire {
 public:
  // change(bytes, first): before they are passed on; `first` is their place among all from that side.
  using change = std::function<void(std::span<char>, std::size_t first)>;
  bad_wire(std::uint16_t to, change harm) : to_(to), harm_(std::move(harm)), door_("127.0.0.1", 0) {
    thread_ = std::thread([this] {
      while (!ends_) {
        pollfd watched = door_.watched();
        if (::poll(&watched, 1, 20) < 1) continue;
        if (motet::tcp::connection guest = door_.take())
          pairs_.emplace_back([this, own = std::move(guest)] { pass(own); });
      }
    });
  }
  ~bad_wire() {
    ends_ = true;
    thread_.join();
    for (std::thread& each : pairs_) each.join();
  }
  std::uint16_t port() const { return ntohs(door_.address().sin_port); }
  std::atomic<bool> held{false};

 private:
  void pass(const motet::tcp::connection& guest) {
    const motet::tcp::connection host =
        motet::tcp::reach(motet::tcp::address_of("127.0.0.1", to_), motet::tcp::deadline(2));
    std::vector<char> some(1 << 16);
    for (std::size_t first = 0; host && !ends_;) {
      pollfd watched[] = {guest.watched(), host.watched()};
      if (held) watched[0].fd = watched[1].fd = -1;
      if (::poll(watched, 2, 20) < 1) continue;
      for (int side = 0; side < 2; ++side) {
        if (watched[side].revents == 0) continue;
        const ssize_t got = ::recv(watched[side].fd, some.data(), some.size(), MSG_DONTWAIT);
        if (got <= 0) return;
        const std::span<char> bytes(some.data(), static_cast<std::size_t>(got));
        if (side == 1) harm_(bytes, first), first += bytes.size();
        (side == 0 ? host : guest).put(std::as_bytes(bytes), motet::tcp::deadline(5), "the other end");
      }
    }
  }

  std::uint16_t to_;
  change harm_;
  motet::tcp::listener door_;
  std::atomic<bool> ends_{false};
  std::list<std::thread> pairs_;
  std::thread thread_;
};

inline bool damaged(motet::isize i) { return i % 9 == 3 || i == 6; }

// All that a model sees of a batch.
struct seen_step {
  std::vector<std::int32_t> ids, targets;
  std::vector<motet::isize> offsets;
  std::vector<unsigned char> pixels;
  std::string position;
  bool operator==(const seen_step&) const = default;
};
inline void see(const motet::pictures& shown, motet::isize side, seen_step& to) {
  const auto put = [&](const void* from, motet::isize bytes) {
    const auto* const at = static_cast<const unsigned char*>(from);
    to.pixels.insert(to.pixels.end(), at, at + bytes);
  };
  if (shown.pixels != nullptr) put(shown.pixels, shown.samples * 3 * side * side * 4);
  for (motet::isize p = 0; p < shown.samples && shown.packed.bytes != nullptr; ++p)
    put(shown.packed.of(p), shown.packed.each[p].pitch * shown.packed.each[p].height);
}
inline seen_step take(motet::feed& from) {
  const motet::step_input batch = from.next();
  seen_step out;
  if (const auto* const pairs = std::get_if<motet::pair_input>(&batch)) {
    const auto& [shown, said] = *pairs;
    see(shown, 8, out);
    out.ids.assign(said.ids, said.ids + said.seq.rows());
    out.offsets.assign(said.seq.offsets, said.seq.offsets + said.seq.samples + 1);
  } else {
    const auto& all = std::get<motet::pictured_tokens>(batch);
    see(all.seen, 8, out);
    out.ids.assign(all.ids, all.ids + all.seq.rows());
    out.targets.assign(all.targets, all.targets + all.seq.rows());
    out.offsets.assign(all.seq.offsets, all.seq.offsets + all.seq.samples + 1);
  }
  out.position = motet::write_json(from.position());
  return out;
}

inline motet::produced_options served_by(std::initializer_list<std::uint16_t> ports) {
  motet::produced_options out;
  for (const std::uint16_t each : ports) out.from.push_back({"127.0.0.1", each});
  out.token = produced_set::token;
  out.silence = 2;
  out.limit = 20;
  return out;
}

struct run {
  const produced_set& set;
  motet::data_folder data;
  explicit run(const produced_set& of) : set(of), data(of.wishes, of.shape) {}

  std::vector<seen_step> plain(std::size_t steps, const motet::json* saved = nullptr) {
    const auto from = motet::open_data(data, saved);
    std::vector<seen_step> out;
    while (out.size() < steps) out.push_back(take(*from));
    return out;
  }
  std::unique_ptr<motet::feed> produced(motet::produced_options how, const motet::json* saved = nullptr) {
    return motet::open_produced(data, saved, set.wishes, set.shape, std::move(how));
  }
};

inline bool says(const std::vector<std::string>& notes, const std::string& what) {
  return std::any_of(notes.begin(), notes.end(),
                     [&](const std::string& each) { return each.find(what) != std::string::npos; });
}
inline std::string refusal_of(motet::feed& from) {
  try {
    from.next();
  } catch (const motet::error& problem) {
    return problem.what();
  }
  return "it was not refused";
}

}  // namespace produced_tests
