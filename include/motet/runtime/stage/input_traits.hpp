// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/nn/layers/pictured_tokens.hpp>
#include <motet/runtime/messages.hpp>
#include <motet/runtime/stage/shown_inputs.hpp>

#include <bit>
#include <limits>
#include <string>
#include <vector>

namespace motet {

// The input of a net is sized and cut by its traits. A net with an input type of its own specialises this.
// Where a device has memory of its own, stage() brings there what operations read by bring(from, to, count),
// to an address that is a multiple of 64, and tells the input with it; the rest stays with the host.
// staged_bytes() says how much memory that takes at most. shape() tells all that decides what work it is;
// same(), whether two are one input, by where they lie; first_bad_sample(), if it is there, the first sample
// with a number that is not finite, or -1; unknown(), if it is there, which of its tokens the net's
// vocabulary lacks, in words, or nothing.
template <class Net, class Input = typename Net::input>
struct input_traits;

template <class Net>
struct input_traits<Net, tokens> {
  using storage = std::vector<isize>;  // rebased offsets
  static storage room(isize samples) { return storage(as_size(samples) + 1); }
  static isize samples(const tokens& all) { return all.seq.samples; }
  static isize longest() {
    static_assert(
        requires { isize{Net::config.context}; },
        "motet: a net that reads tokens needs config.context, the most of a sample [MT-N12]");
    return Net::config.context;
  }
  static tokens largest(isize samples) { return {nullptr, {samples, Net::config.context, nullptr}}; }
  static bool fits(const tokens& all, isize samples) {
    if (all.seq.samples > samples) return false;
    for (isize s = 0; s < all.seq.samples; ++s)
      if (all.seq.rows_of(s) > Net::config.context) return false;
    return true;
  }
  static std::string unknown(const tokens& all) { return unknown(all, all.ids, "token", 0); }
  // `least`: of what the rows of a sample are asked for, or have. A net without a vocabulary knows them all.
  static std::string unknown(const tokens& all, const std::int32_t* of, const char* what,
                             std::int32_t least) {
    if constexpr (requires { Net::config.vocabulary; }) {
      const auto all_of = static_cast<std::int32_t>(Net::config.vocabulary);
      for (isize s = 0; s < all.seq.samples; ++s)
        for (isize r = all.seq.begin(s); r < all.seq.end(s); ++r)
          if (of[r] < least || of[r] >= all_of)
            return sentence({what, " ", r - all.seq.begin(s), " of sample ", s, " is ", of[r],
                             ", the vocabulary has ", all_of});
    }
    return {};
  }
  static tokens slice(const tokens& all, isize first, isize count, storage& offsets) {
    const isize start = all.seq.begin(first);
    if (all.seq.offsets == nullptr) return {all.ids + start, {count, all.seq.length, nullptr}};
    for (isize s = 0; s <= count; ++s) offsets[as_size(s)] = all.seq.begin(first + s) - start;
    return {all.ids + start, {count, 0, offsets.data()}};
  }
  static isize staged_bytes(const tokens& all) {
    return all.seq.rows() * static_cast<isize>(sizeof(std::int32_t));
  }
  template <class Bring>
  static tokens stage(const tokens& all, std::byte* to, Bring&& bring) {
    auto* const ids = reinterpret_cast<std::int32_t*>(to);
    bring(all.ids, ids, all.seq.rows());
    return {ids, all.seq};
  }
  static bool same(const tokens& a, const tokens& b) {
    return a.ids == b.ids && a.seq.samples == b.seq.samples && a.seq.length == b.seq.length &&
           a.seq.offsets == b.seq.offsets;
  }
  static void shape(const tokens& all, std::vector<isize>& into) {
    into.insert(into.end(), {all.seq.samples, all.seq.offsets == nullptr ? all.seq.length : -1});
    if (all.seq.offsets != nullptr)
      into.insert(into.end(), all.seq.offsets, all.seq.offsets + all.seq.samples + 1);
  }
};

// Labels go with their tokens.
template <class Net>
struct input_traits<Net, labelled_tokens> : input_traits<Net, tokens> {
  using text = input_traits<Net, tokens>;
  using typename text::storage;
  static labelled_tokens largest(isize samples) { return {text::largest(samples)}; }
  // Any number below zero asks for nothing.
  static std::string unknown_target(const labelled_tokens& all) {
    if (all.targets == nullptr) return {};
    return text::unknown(all, all.targets, "target", std::numeric_limits<std::int32_t>::min());
  }
  static std::string unknown(const labelled_tokens& all) {
    std::string found = text::unknown(all);
    return found.empty() ? unknown_target(all) : found;
  }
  static labelled_tokens slice(const labelled_tokens& all, isize first, isize count, storage& offsets) {
    const isize start = all.seq.begin(first);
    return {text::slice(all, first, count, offsets), all.targets == nullptr ? nullptr : all.targets + start,
            all.share};
  }
  static isize staged_bytes(const labelled_tokens& all) { return ids_space(all) + text::staged_bytes(all); }
  template <class Bring>
  static labelled_tokens stage(const labelled_tokens& all, std::byte* to, Bring&& bring) {
    auto* const targets = reinterpret_cast<std::int32_t*>(to + ids_space(all));
    bring(all.targets, targets, all.seq.rows());
    return {text::stage(all, to, bring), targets, all.share};
  }
  // The share is part of what is recorded of a step.
  static void shape(const labelled_tokens& all, std::vector<isize>& into) {
    text::shape(all, into);
    into.push_back(std::bit_cast<isize>(all.share));
  }
  static bool same(const labelled_tokens& a, const labelled_tokens& b) {
    return text::same(a, b) && a.targets == b.targets && a.share == b.share;
  }

 private:
  static isize ids_space(const labelled_tokens& all) { return round_up(text::staged_bytes(all), 64); }
};

namespace detail {

struct pictured_room {
  std::vector<isize> offsets, picture_offsets;  // rebased, as are places
  std::vector<std::int32_t> places;
  std::vector<isize> each;
};

}  // namespace detail

// Pictures go with the text that they stand in. The net says how many a sample has at most, and which eye
// sees them.
template <class Net>
struct input_traits<Net, pictured_tokens> {
  static_assert(
      requires {
        isize{Net::most_pictures};
        isize{Net::eye::rows_of_picture};
      },
      "motet: a net that reads pictured tokens needs most_pictures, the most of a sample, and its eye "
      "[MT-N12]");
  using text = input_traits<Net, labelled_tokens>;
  using shown = input_traits<typename Net::eye, pictures>;
  static constexpr isize rows_of_picture = Net::eye::rows_of_picture;

  using storage = detail::pictured_room;
  static storage room(isize samples) {
    return {text::room(samples), text::room(samples),
            std::vector<std::int32_t>(as_size(samples * Net::most_pictures * rows_of_picture)),
            shown::room(samples * Net::most_pictures)};
  }
  static isize samples(const pictured_tokens& all) { return text::samples(all); }
  static isize longest() { return text::longest(); }
  static pictured_tokens largest(isize samples) {
    return {text::largest(samples), shown::largest(samples * Net::most_pictures)};
  }
  static bool fits(const pictured_tokens& all, isize samples) {
    if (!text::fits(all, samples) || !shown::fits(all.seen, samples * Net::most_pictures)) return false;
    for (isize s = 0; s < all.seq.samples; ++s)
      if (pictures_of(all, s).size() > Net::most_pictures) return false;
    return true;
  }
  // Rows without a token are those of the sample's own pictures, one after the other.
  static std::string unknown(const pictured_tokens& all) {
    if (all.seq.samples > 0 &&
        (pictures_of(all, 0).begin != 0 || pictures_of(all, all.seq.samples - 1).end != all.seen.samples))
      return sentence(
          {all.seen.samples, " pictures came, the samples have ", pictures_of(all, all.seq.samples - 1).end});
    if (std::string what = shown::unknown(all.seen); !what.empty()) return what;
    for (isize s = 0; s < all.seq.samples; ++s) {
      const interval own = pictures_of(all, s);
      isize seen = rows_before(all, own.begin);
      const isize last = rows_before(all, own.end);
      const auto skip = [&] {
        while (seen < last && all.places[seen] < 0) ++seen;
      };
      for (isize r = all.seq.begin(s); r < all.seq.end(s); ++r) {
        if (all.ids[r] < 0) {
          skip();
          if (seen == last)
            return sentence({"row ", r - all.seq.begin(s), " of sample ", s, " is kept for a picture, its ",
                             own.size(), " pictures have ", taken(all, own), " rows to show"});
          if (all.places[seen] != r)
            return sentence({row_of_picture(all, own, seen), " of sample ", s, " wants row ",
                             all.places[seen] - all.seq.begin(s), ", row ", r - all.seq.begin(s),
                             " is the next without a token"});
          ++seen;
        } else if (all.ids[r] >= Net::config.vocabulary) {
          return sentence({"token ", r - all.seq.begin(s), " of sample ", s, " is ", all.ids[r],
                           ", the vocabulary has ", Net::config.vocabulary});
        }
      }
      skip();
      if (seen != last)
        return sentence({"the pictures of sample ", s, " have ", taken(all, own), " rows to show, it has ",
                         taken(all, {own.begin, own.end}) - rest(all, seen, last), " rows without a token"});
    }
    return text::unknown_target(all);
  }
  static isize first_bad_sample(const pictured_tokens& all) {
    const isize picture = shown::first_bad_sample(all.seen);
    for (isize s = 0; picture >= 0 && s < all.seq.samples; ++s)
      if (pictures_of(all, s).end > picture) return s;
    return -1;
  }
  static pictured_tokens slice(const pictured_tokens& all, isize first, isize count, storage& room) {
    const isize start = all.seq.begin(first);
    const interval some{pictures_before(all, first), pictures_before(all, first + count)};
    for (isize s = 0; s <= count; ++s)
      room.picture_offsets[as_size(s)] = pictures_before(all, first + s) - some.begin;
    const isize before = rows_before(all, some.begin);
    for (isize r = before; r < rows_before(all, some.end); ++r) {
      const std::int32_t at = all.places[r];
      room.places[as_size(r - before)] = at < 0 ? at : at - static_cast<std::int32_t>(start);
    }
    return {text::slice(all, first, count, room.offsets),
            shown::slice(all.seen, some.begin, some.size(), room.each), room.picture_offsets.data(),
            room.places.data()};
  }
  static isize staged_bytes(const pictured_tokens& all) {
    return seen_at(all) + shown::staged_bytes(all.seen);
  }
  template <class Bring>
  static pictured_tokens stage(const pictured_tokens& all, std::byte* to, Bring&& bring) {
    auto* const places = reinterpret_cast<std::int32_t*>(to + places_at(all));
    bring(all.places, places, rows_before(all, all.seen.samples));
    return {text::stage(all, to, bring), shown::stage(all.seen, to + seen_at(all), bring),
            all.picture_offsets, places};
  }
  static bool same(const pictured_tokens& a, const pictured_tokens& b) {
    return text::same(a, b) && shown::same(a.seen, b.seen) && a.places == b.places &&
           a.picture_offsets == b.picture_offsets;
  }
  static void shape(const pictured_tokens& all, std::vector<isize>& into) {
    text::shape(all, into);
    shown::shape(all.seen, into);
  }

 private:
  static isize pictures_before(const pictured_tokens& all, isize sample) {
    return all.picture_offsets == nullptr ? 0 : all.picture_offsets[sample];
  }
  static interval pictures_of(const pictured_tokens& all, isize sample) {
    return {pictures_before(all, sample), pictures_before(all, sample + 1)};
  }
  static isize rows_before(const pictured_tokens& all, isize picture) {
    return all.seen.rows_before(picture, rows_of_picture);
  }
  // Says in words where row `seen` of all pictures is one of a sample's own.
  static std::string row_of_picture(const pictured_tokens& all, interval own, isize seen) {
    isize picture = own.begin;
    while (rows_before(all, picture + 1) <= seen) ++picture;
    return sentence({"row ", seen - rows_before(all, picture), " of picture ", picture - own.begin});
  }
  // Rows of pictures that have a place.
  static isize rest(const pictured_tokens& all, isize first, isize last) {
    isize found = 0;
    for (isize r = first; r < last; ++r) found += all.places[r] >= 0 ? 1 : 0;
    return found;
  }
  static isize taken(const pictured_tokens& all, interval of) {
    return rest(all, rows_before(all, of.begin), rows_before(all, of.end));
  }
  static isize places_at(const pictured_tokens& all) { return round_up(text::staged_bytes(all), 64); }
  static isize seen_at(const pictured_tokens& all) {
    return round_up(places_at(all) + rows_before(all, all.seen.samples) * 4, 64);
  }
};

template <class Net>
std::string unknown_tokens(const typename Net::input& all) {
  if constexpr (requires { input_traits<Net>::unknown(all); }) return input_traits<Net>::unknown(all);
  else return {};
}

template <class Net>
isize first_bad_sample(const typename Net::input& all) {
  if constexpr (requires { input_traits<Net>::first_bad_sample(all); })
    return input_traits<Net>::first_bad_sample(all);
  else return -1;
}

}  // namespace motet
