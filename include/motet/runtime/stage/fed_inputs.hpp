// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/exchange/spread_rows.hpp>
#include <motet/nn/layers/entering_rows.hpp>
#include <motet/nn/towers/vit_rows.hpp>
#include <motet/runtime/stage/input_traits.hpp>

#include <algorithm>
#include <array>

namespace motet {

namespace detail {

// How many a sample may have at most of what it may have several of, and the rows of one.
template <class Net>
inline constexpr isize most_of_sample = [] {
  if constexpr (requires { Net::most_sounds; }) return Net::most_sounds;
  else return Net::most_pictures;
}();
template <class Net>
inline constexpr isize rows_of_one = [] {
  if constexpr (requires { Net::rows_of_sound; }) return Net::rows_of_sound;
  else return Net::rows_of_picture;
}();

// Where ranks cut samples of the net, each embeds its own rows, and takes those of other modules among them.
template <class Net>
inline constexpr bool takes_parts = requires { requires Net::stage::embeds_parts; };
// Likewise each gives other modules its own rows.
template <class Net>
inline constexpr bool gives_parts = requires { requires Net::stage::ends_parts; };

template <class Each>
struct several_room {
  std::vector<isize> offsets;  // rebased
  Each each;
};
struct placed_room {
  std::vector<isize> offsets, row_offsets;  // rebased, as are places
  std::vector<std::int32_t> places;
};
// What a rank embeds of samples whose rows are cut lies here.
struct placed_part_room {
  std::vector<std::int32_t> ids, places;
  std::vector<isize> before;  // of each source, the rows that enter here before each sample, and all
};

}  // namespace detail

// Pictures or sounds of samples that have none, one or many of them. The net says how many a sample has at
// most.
template <class Net, class Each>
struct input_traits<Net, several<Each>> {
  using shown = input_traits<Net, Each>;
  static constexpr isize most = detail::most_of_sample<Net>, rows_of_each = detail::rows_of_one<Net>;
  using storage = detail::several_room<typename shown::storage>;
  static storage room(isize samples) {
    return {std::vector<isize>(as_size(samples) + 1), shown::room(samples * most)};
  }
  static isize samples(const several<Each>& all) { return all.of_samples; }
  static isize longest() { return most; }
  // Offsets of as many as a sample may have.
  static several<Each> largest(isize samples) {
    return {shown::largest(samples * most), samples, detail::even_offsets(samples, most)};
  }
  static bool fits(const several<Each>& all, isize samples) {
    if (all.of_samples > samples || !shown::fits(all, all.samples)) return false;
    for (isize s = 0; s < all.of_samples; ++s)
      if (all.before(s + 1) - all.before(s) > most) return false;
    return true;
  }
  static std::string unknown(const several<Each>& all) {
    if (all.before(0) == 0 && all.before(all.of_samples) == all.samples) {
      if constexpr (requires { shown::unknown(all); }) return shown::unknown(all);
      else return {};
    }
    return sentence(
        {all.samples, " ", shown::called, " came, the samples have ", all.before(all.of_samples)});
  }
  static isize first_bad_sample(const several<Each>& all) {
    const isize found = shown::first_bad_sample(all);
    for (isize s = 0; found >= 0 && s < all.of_samples; ++s)
      if (all.before(s + 1) > found) return s;
    return -1;
  }
  static sample_bounds bounds(const several<Each>& all) { return {all.of_samples, all.offsets}; }
  static isize first_row(const several<Each>& all, isize sample) {
    if constexpr (requires { all.rows_before(sample, rows_of_each); })
      return all.rows_before(all.before(sample), rows_of_each);
    else return all.before(sample) * rows_of_each;
  }
  static several<Each> slice(const several<Each>& all, isize first, isize count, storage& room) {
    const isize begin = all.before(first), end = all.before(first + count);
    for (isize s = 0; s <= count; ++s) room.offsets[as_size(s)] = all.before(first + s) - begin;
    return {shown::slice(all, begin, end - begin, room.each), count, room.offsets.data()};
  }
  static isize staged_bytes(const several<Each>& all) { return shown::staged_bytes(all); }
  template <class Bring>
  static several<Each> stage(const several<Each>& all, std::byte* to, Bring&& bring) {
    return {shown::stage(all, to, bring), all.of_samples, all.offsets};
  }
  static bool same(const several<Each>& a, const several<Each>& b) {
    return shown::same(a, b) && a.of_samples == b.of_samples && a.offsets == b.offsets;
  }
  static void shape(const several<Each>& all, std::vector<isize>& into) { shown::shape(all, into); }
};

// Rows of another module, and nothing of the step's data.
template <class Net>
struct input_traits<Net, through_rows> {
  using storage = std::vector<isize>;  // rebased offsets
  static storage room(isize samples) { return storage(as_size(samples) + 1); }
  static isize samples(const through_rows& all) { return all.seq.samples; }
  static isize longest() { return Net::most_rows; }
  static through_rows largest(isize samples) { return {{samples, Net::most_rows, nullptr}}; }
  static bool fits(const through_rows& all, isize samples) {
    if (all.seq.samples > samples) return false;
    for (isize s = 0; s < all.seq.samples; ++s)
      if (all.seq.rows_of(s) > Net::most_rows) return false;
    return true;
  }
  static through_rows slice(const through_rows& all, isize first, isize count, storage& room) {
    const isize start = all.seq.begin(first);
    for (isize s = 0; s <= count; ++s) room[as_size(s)] = all.seq.begin(first + s) - start;
    return {{count, 0, room.data()}};
  }
  static isize staged_bytes(const through_rows&) { return 0; }
  template <class Bring>
  static through_rows stage(const through_rows& all, std::byte*, Bring&&) {
    return all;
  }
  // Of no rows there is no mean.
  static std::string unknown(const through_rows& all) {
    if constexpr (requires { Net::pools_rows; })
      for (isize s = 0; s < all.seq.samples; ++s)
        if (all.seq.rows_of(s) < 1)
          return sentence({"no row enters of sample ", s, ", and it makes one of all that do"});
    return {};
  }
  static bool same(const through_rows& a, const through_rows& b) {
    return a.seq.samples == b.seq.samples && a.seq.offsets == b.seq.offsets;
  }
  static void shape(const through_rows& all, std::vector<isize>& into) {
    into.insert(into.end(), {all.seq.samples, all.seq.rows()});
  }
};

// Text goes with the places of the rows that enter it.
template <class Net>
struct input_traits<Net, placed_tokens> {
  static constexpr isize sources = Net::sources;
  using text = input_traits<Net, labelled_tokens>;
  using storage = detail::placed_room;
  static storage room(isize samples) {
    return {text::room(samples), typename text::storage(as_size(sources * (samples + 1))),
            std::vector<std::int32_t>(as_size(samples * Net::most_rows))};
  }
  static isize samples(const placed_tokens& all) { return text::samples(all); }
  static isize longest() { return text::longest(); }
  // Its rows are counted and never looked at, so that one module may bring them all.
  static placed_tokens largest(isize samples) {
    return {text::largest(samples), detail::even_offsets(samples, Net::most_rows)};
  }
  static bool fits(const placed_tokens& all, isize samples) {
    if (!text::fits(all, samples)) return false;
    for (isize s = 0; all.sources == sources && s < all.seq.samples; ++s) {
      isize rows = 0;
      for (isize k = 0; k < sources; ++k) rows += all.rows_that_enter(k).rows_of(s);
      if (rows > Net::most_rows) return false;
    }
    return true;
  }

  using part_room = detail::placed_part_room;
  // `own`: the rows of so many samples that such a rank has at most.
  static part_of_text largest_part(isize samples, const sequences& own) {
    return {true, {nullptr, own}, nullptr, std::min(samples * Net::most_rows, own.rows())};
  }
  static part_room room_of_part(isize samples, const part_of_text& largest) {
    return {std::vector<std::int32_t>(as_size(largest.words.seq.rows())),
            std::vector<std::int32_t>(as_size(largest.entering)),
            std::vector<isize>(as_size(sources * (samples + 1)))};
  }
  // Lays out this part's rows of some samples of a microbatch that ranks share so; `own` counts them.
  static part_of_text part(const placed_tokens& all, interval samples, const microbatch_spread& is,
                           isize number, part_room& room) {
    const sequences& own = is.own;
    std::int32_t* id = room.ids.data();
    for (isize s = samples.begin; s < samples.end; ++s) {
      const row_parts cut = is.cut_of(s);
      for (isize p = 0; p < cut.pieces(); ++p) {
        const interval rows = cut.piece(all.seq.rows_of(s), number, p);
        id = std::copy_n(all.ids + all.seq.begin(s) + rows.begin, rows.size(), id);
      }
    }
    std::int32_t* place = room.places.data();
    isize* before = room.before.data();
    for (isize k = 0; k < sources; ++k) {
      const std::int32_t* const first = place;
      for (isize s = samples.begin; s < samples.end; ++s) {
        *before++ = place - first;
        const std::int32_t* const from = places_of(all, k, s);
        const row_parts cut = is.cut_of(s);
        rows_of_part(all, k, s, cut, number, [&](interval rows) {
          for (isize r = rows.begin; r < rows.end; ++r)
            *place++ =
                static_cast<std::int32_t>(own.begin(s - samples.begin) +
                                          cut.index(all.seq.rows_of(s), number, from[r] - all.seq.begin(s)));
        });
      }
      *before++ = place - first;
    }
    return {true, {room.ids.data(), own}, room.places.data(), place - room.places.data()};
  }
  // visit(rows): of those that a source brings to a sample, as intervals, the ones with a place in the part.
  template <class Visit>
  static void rows_of_part(const placed_tokens& all, isize source, isize sample, const row_parts& cut,
                           isize number, Visit&& visit) {
    const std::int32_t* const from = places_of(all, source, sample);
    const isize count = all.rows_that_enter(source).rows_of(sample), rows = all.seq.rows_of(sample);
    const auto is_here = [&](isize r) {
      return from[r] >= 0 && cut.index(rows, number, from[r] - all.seq.begin(sample)) >= 0;
    };
    for (isize begin = 0, end = 0; begin < count; begin = end + 1) {
      for (end = begin; end < count && is_here(end);) ++end;
      if (end > begin) visit(interval{begin, end});
    }
  }

  // Rows without a token are those that enter the sample, of each module one after the other.
  static std::string unknown(const placed_tokens& all) {
    if (all.sources != sources)
      return sentence({"the places are for rows of ", all.sources, " modules, and ", sources, " feed it"});
    std::array<entrance, sources> of;
    for (isize s = 0; s < all.seq.samples; ++s) {
      const std::int32_t* places = all.places;
      isize entering = 0;
      for (isize k = 0; k < sources; ++k) {
        const sequences rows = all.rows_that_enter(k);
        of[as_size(k)] = {places + rows.begin(s), places + rows.begin(s), places + rows.end(s)};
        places += rows.rows();
        entering += rows.rows_of(s);
      }
      for (isize r = all.seq.begin(s); r < all.seq.end(s); ++r) {
        if (all.ids[r] >= Net::config.vocabulary)
          return sentence({"token ", r - all.seq.begin(s), " of sample ", s, " is ", all.ids[r],
                           ", the vocabulary has ", Net::config.vocabulary});
        if (all.ids[r] >= 0) {
          if constexpr (requires { Net::reads_tokens; })
            return sentence({"row ", r - all.seq.begin(s), " of sample ", s, " has token ", all.ids[r],
                             ", and it reads rows of other modules alone"});
          continue;
        }
        entrance* waiting = nullptr;
        bool found = false;
        for (entrance& each : of) {
          each.skip();
          if (found || each.at == each.end) continue;
          if (found = *each.at == r; found) ++each.at;
          else if (waiting == nullptr) waiting = &each;
        }
        if (found) continue;
        if (waiting == nullptr)
          return sentence({"row ", r - all.seq.begin(s), " of sample ", s, " has no token, and all of the ",
                           entering, " rows that enter have a place"});
        return sentence({"row ", waiting->row(), " that enters sample ", s, " wants row ",
                         *waiting->at - all.seq.begin(s), ", row ", r - all.seq.begin(s),
                         " is the next without a token"});
      }
      for (entrance& each : of)
        if (each.skip(); each.at != each.end)
          return sentence({"row ", each.row(), " that enters sample ", s,
                           " wants a place, and the sample has no row left without a token"});
    }
    return text::unknown_target(all);
  }
  static placed_tokens slice(const placed_tokens& all, isize first, isize count, storage& room) {
    const isize start = all.seq.begin(first);
    const std::int32_t* from = all.places;
    std::int32_t* to = room.places.data();
    isize* offsets = room.row_offsets.data();
    for (isize k = 0; k < sources; ++k) {
      const sequences rows = all.rows_that_enter(k);
      const isize before = rows.begin(first);
      for (isize s = 0; s <= count; ++s) *offsets++ = rows.begin(first + s) - before;
      for (isize r = before; r < rows.begin(first + count); ++r)
        *to++ = from[r] < 0 ? from[r] : from[r] - static_cast<std::int32_t>(start);
      from += rows.rows();
    }
    return {text::slice(all, first, count, room.offsets),
            room.row_offsets.data(),
            room.places.data(),
            {},
            sources,
            {}};
  }
  static isize staged_bytes(const placed_tokens& all) {
    return part_at(all) + (all.part.cut ? round_up(all.part.words.seq.rows() * 4, 64) : 0);
  }
  template <class Bring>
  static placed_tokens stage(const placed_tokens& all, std::byte* to, Bring&& bring) {
    auto* const places = reinterpret_cast<std::int32_t*>(to + places_at(all));
    bring(all.places_here(), places, all.entering_count());
    placed_tokens there{text::stage(all, to, bring), all.row_offsets, places, {}, all.sources, all.part};
    if (!all.part.cut) return there;
    auto* const ids = reinterpret_cast<std::int32_t*>(to + part_at(all));
    bring(all.part.words.ids, ids, all.part.words.seq.rows());
    there.part.words.ids = ids;
    there.part.places = places;
    return there;
  }
  static bool same(const placed_tokens& a, const placed_tokens& b) {
    return text::same(a, b) && a.places == b.places && a.row_offsets == b.row_offsets;
  }
  static void shape(const placed_tokens& all, std::vector<isize>& into) {
    text::shape(all, into);
    into.insert(into.end(), {all.entering_count(), all.part.words.seq.rows()});
  }

 private:
  // The rows of a sample that one module brings, by their places.
  struct entrance {
    const std::int32_t *begin = nullptr, *at = nullptr, *end = nullptr;
    // Goes past those that nobody reads.
    void skip() {
      while (at < end && *at < 0) ++at;
    }
    isize row() const { return at - begin; }
  };
  // The places of the rows that a source brings to a sample.
  static const std::int32_t* places_of(const placed_tokens& all, isize source, isize sample) {
    isize before = all.rows_that_enter(source).begin(sample);
    for (isize k = 0; k < source; ++k) before += all.rows_that_enter(k).rows();
    return all.places + before;
  }
  static isize places_at(const placed_tokens& all) { return round_up(text::staged_bytes(all), 64); }
  static isize part_at(const placed_tokens& all) {
    return places_at(all) + round_up(all.entering_count() * 4, 64);
  }
};

}  // namespace motet
