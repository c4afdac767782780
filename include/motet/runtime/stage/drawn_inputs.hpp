// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/nn/layers/fed_pictures.hpp>
#include <motet/runtime/stage/fed_inputs.hpp>

namespace motet {

// A net that learns to draw knows the place of each picture in the step, whichever part it gets.
template <class Net>
struct input_traits<Net, drawn_pictures> : input_traits<Net, pictures> {
  using shown = input_traits<Net, pictures>;
  using typename shown::storage;
  static drawn_pictures largest(isize samples) { return {shown::largest(samples)}; }
  static drawn_pictures slice(const drawn_pictures& all, isize first, isize count, storage& room) {
    drawn_pictures some = all;
    static_cast<pictures&>(some) = shown::slice(all, first, count, room);
    if (all.classes != nullptr) some.classes += first;
    if (all.draws.places != nullptr) some.draws.places += first;
    else some.draws.first += first;
    return some;
  }
  static std::string unknown(const drawn_pictures& all) {
    if (all.draws.given()) return "times are given, and a net that learns draws its own";
    for (isize s = 0; all.classes != nullptr && s < all.samples; ++s)
      if (all.classes[s] >= Net::config.classes)
        return sentence({"picture ", s, " has class ", all.classes[s], ", the net knows ",
                         isize{Net::config.classes}, ", from 0 on"});
    return {};
  }
  static isize staged_bytes(const drawn_pictures& all) { return 2 * list_of(all) + shown::staged_bytes(all); }
  template <class Bring>
  static drawn_pictures stage(const drawn_pictures& all, std::byte* to, Bring&& bring) {
    drawn_pictures there = all;
    const auto list = [&](const std::int32_t* from, std::byte* at) -> const std::int32_t* {
      if (from == nullptr) return nullptr;
      bring(from, reinterpret_cast<std::int32_t*>(at), all.samples);
      return reinterpret_cast<std::int32_t*>(at);
    };
    there.classes = list(all.classes, to);
    there.draws.places = list(all.draws.places, to + list_of(all));
    static_cast<pictures&>(there) = shown::stage(all, to + 2 * list_of(all), bring);
    return there;
  }
  static bool same(const drawn_pictures& a, const drawn_pictures& b) {
    return shown::same(a, b) && a.classes == b.classes && a.share == b.share && a.draws == b.draws;
  }
  // What is drawn, and the share, are part of what is recorded of a step.
  static void shape(const drawn_pictures& all, std::vector<isize>& into) {
    shown::shape(all, into);
    into.insert(into.end(), {std::bit_cast<isize>(all.draws.seed), std::bit_cast<isize>(all.draws.step),
                             all.draws.first, std::bit_cast<isize>(all.share)});
  }

 private:
  static isize list_of(const drawn_pictures& all) {
    return round_up(all.samples * static_cast<isize>(sizeof(std::int32_t)), 64);
  }
};

// Which rows of another module tell of which picture goes with the pictures.
template <class Net>
struct input_traits<Net, fed_pictures> : input_traits<Net, drawn_pictures> {
  using drawn = input_traits<Net, drawn_pictures>;
  using storage = std::vector<isize>;  // rebased offsets
  static storage room(isize samples) { return storage(as_size(samples) + 1); }
  static fed_pictures largest(isize samples) {
    return {drawn::largest(samples), detail::even_offsets(samples, Net::most_rows)};
  }
  static bool fits(const fed_pictures& all, isize samples) {
    if (!drawn::fits(all, samples)) return false;
    for (isize s = 0; s < all.samples; ++s)
      if (all.rows_that_enter().rows_of(s) > Net::most_rows) return false;
    return true;
  }
  static fed_pictures slice(const fed_pictures& all, isize first, isize count, storage& room) {
    typename drawn::storage none;
    const sequences rows = all.rows_that_enter();
    for (isize s = 0; s <= count; ++s) room[as_size(s)] = rows.begin(first + s) - rows.begin(first);
    return {drawn::slice(all, first, count, none), room.data()};
  }
  template <class Bring>
  static fed_pictures stage(const fed_pictures& all, std::byte* to, Bring&& bring) {
    return {drawn::stage(all, to, bring), all.row_offsets};
  }
  static bool same(const fed_pictures& a, const fed_pictures& b) {
    return drawn::same(a, b) && a.row_offsets == b.row_offsets;
  }
  static void shape(const fed_pictures& all, std::vector<isize>& into) {
    drawn::shape(all, into);
    into.push_back(all.entering_count());
  }
};

}  // namespace motet
