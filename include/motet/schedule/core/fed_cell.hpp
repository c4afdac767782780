// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/meta/list.hpp>
#include <motet/schedule/core/voice.hpp>

namespace motet {

// A microbatch of one voice that reads the rows of a microbatch of another: they leave that one at its last
// stage and enter this one at its first. Their gradients come back the same way.
struct fed_cell {
  std::int32_t from = 0, from_microbatch = 0;
  std::int32_t to = 0, to_microbatch = 0;
  friend constexpr bool operator==(const fed_cell&, const fed_cell&) = default;
};

// Who feeds whom among voices, found by cell: numbers of (stage, microbatch) pairs as voice::cell() has them.
class fed_links {
 public:
  struct cells {
    const index* first = nullptr;
    const index* last = nullptr;
    constexpr const index* begin() const { return first; }
    constexpr const index* end() const { return last; }
    constexpr bool empty() const { return first == last; }
  };

  constexpr fed_links() = default;
  // The voices and microbatches that are named must be there. Gradients come from those alone that go
  // backward.
  constexpr fed_links(const list<voice>& voices, const list<fed_cell>& feeds) {
    if (feeds.empty()) return;
    list<index> first;
    index all = 0;
    for (const voice& each : voices) {
      first.push(all);
      all += each.microbatches;
    }
    sources_.resize(feeds.size(), 0);
    targets_.resize(feeds.size(), 0);
    source_ends_.resize(all + 1, 0);
    target_ends_.resize(all + 1, 0);
    for (const fed_cell& each : feeds) {
      ++source_ends_[first[each.to] + each.to_microbatch + 1];
      if (voices[each.to].learns) ++target_ends_[first[each.from] + each.from_microbatch + 1];
    }
    for (index i = 0; i < all; ++i) {
      source_ends_[i + 1] += source_ends_[i];
      target_ends_[i + 1] += target_ends_[i];
    }
    list<index> next_source = source_ends_, next_target = target_ends_;
    for (const fed_cell& each : feeds) {
      const voice &from = voices[each.from], &to = voices[each.to];
      sources_[next_source[first[each.to] + each.to_microbatch]++] =
          from.cell(from.stages - 1, each.from_microbatch);
      if (to.learns)
        targets_[next_target[first[each.from] + each.from_microbatch]++] = to.cell(0, each.to_microbatch);
    }
    first_ = static_cast<list<index>&&>(first);
  }

  constexpr bool empty() const { return first_.empty(); }
  // The last stages whose rows a microbatch reads at its first.
  constexpr cells sources(index voice, index microbatch) const {
    return of(sources_, source_ends_, voice, microbatch);
  }
  // The first stages that give back gradients of the rows that a microbatch made at its last.
  constexpr cells targets(index voice, index microbatch) const {
    return of(targets_, target_ends_, voice, microbatch);
  }

 private:
  constexpr cells of(const list<index>& all, const list<index>& ends, index voice, index microbatch) const {
    if (first_.empty()) return {};
    const index at = first_[voice] + microbatch;
    return {all.data() + ends[at], all.data() + ends[at + 1]};
  }

  list<index> first_;  // of each voice, among the microbatches of all
  list<index> sources_, source_ends_, targets_, target_ends_;
};

// What is wrong with such a list, as {voice, the other one}; -1, -1: nothing is.
struct misfed {
  std::int32_t from = -1, to = -1;
  bool apart = false;  // on two ranks
  constexpr bool ok() const { return from < 0; }
};
// place(voice, stage) is the rank of a stage.
template <class Place>
constexpr misfed find_misfed(const list<voice>& voices, const list<fed_cell>& feeds, Place place) {
  const auto known = [&](std::int32_t v, std::int32_t m) {
    return v >= 0 && v < voices.size() && m >= 0 && m < voices[v].microbatches;
  };
  for (const fed_cell& each : feeds) {
    const misfed wrong{each.from < 0 ? 0 : each.from, each.to};
    if (!known(each.from, each.from_microbatch) || !known(each.to, each.to_microbatch) ||
        each.from == each.to)
      return wrong;
    const voice &from = voices[each.from], &to = voices[each.to];
    // Whom no gradient reaches cannot go backward.
    if (from.learns && from.join < 0 && !to.learns) return wrong;
    if (place(from, from.stages - 1) != place(to, 0)) return {wrong.from, wrong.to, true};
  }
  return {};
}

}  // namespace motet
