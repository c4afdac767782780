// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/plan/order/step_headers.hpp>
#include <motet/runtime/stage/beside_inputs.hpp>
#include <motet/runtime/stage/drawn_inputs.hpp>
#include <motet/runtime/stage/fed_inputs.hpp>

#include <algorithm>
#include <vector>

namespace motet {

// The samples of a net's input in another order, each whole: of(input, order) has at place k the sample
// order[k], and lies here until the next call. A net with an input type of its own specialises this.
// Asks for: an order that names each sample of the input once.
// Memory: a copy of the input.
// Errors: none of its own.
// Example:
//   #include <motet/nn/towers/text.hpp>
//   using words = text_tower<text_config{.vocabulary = 64, .context = 8, .width = 16, .heads = 2}>;
//   tokens backwards(arranged_input<words>& room, const tokens& two) { return room.of(two, {1, 0}); }
template <class Net, class Input = typename Net::input>
class arranged_input;

template <class Net>
class arranged_input<Net, pictures> {
 public:
  const pictures& of(const pictures& all, const sample_order& order) {
    out_ = all;
    if (!all.are_packed()) {
      constexpr isize each = traits::pixels;
      pixels_.clear();
      for (const std::int32_t s : order)
        pixels_.insert(pixels_.end(), all.pixels + s * each, all.pixels + (s + 1) * each);
      out_.pixels = pixels_.data();
      return out_;
    }
    bytes_.clear();
    each_.clear();
    for (const std::int32_t s : order) {
      packed_picture one = all.packed.each[s];
      const isize size = one.bytes(traits::pixels, traits::of_patch);
      one.at = static_cast<std::int64_t>(bytes_.size());
      const std::uint8_t* const from = all.packed.of(s);
      bytes_.insert(bytes_.end(), from, from + size);
      bytes_.resize(as_size(round_up(static_cast<isize>(bytes_.size()), 16)));
      each_.push_back(one);
    }
    out_.packed.bytes = bytes_.data();
    out_.packed.each = out_.packed.origin = each_.data();
    if (all.row_offsets == nullptr) return out_;
    offsets_.assign(1, 0);
    for (const std::int32_t s : order)
      offsets_.push_back(offsets_.back() + all.row_offsets[s + 1] - all.row_offsets[s]);
    out_.row_offsets = offsets_.data();
    return out_;
  }

 private:
  using traits = input_traits<Net, pictures>;
  pictures out_;
  std::vector<isize> offsets_;
  std::vector<float> pixels_;
  std::vector<std::uint8_t> bytes_;
  std::vector<packed_picture> each_;
};

// Pictures keep the places that they had, and so their noise.
template <class Net>
class arranged_input<Net, drawn_pictures> {
 public:
  const drawn_pictures& of(const drawn_pictures& all, const sample_order& order) {
    out_ = all;
    static_cast<pictures&>(out_) = shown_.of(all, order);
    classes_.clear();
    places_.clear();
    for (const std::int32_t s : order) {
      if (all.classes != nullptr) classes_.push_back(all.classes[s]);
      places_.push_back(static_cast<std::int32_t>(all.draws.place(s)));
    }
    if (all.classes != nullptr) out_.classes = classes_.data();
    out_.draws.places = places_.data();
    return out_;
  }

 private:
  drawn_pictures out_;
  arranged_input<Net, pictures> shown_;
  std::vector<std::int32_t> classes_, places_;
};

template <class Net>
class arranged_input<Net, sounds> {
 public:
  const sounds& of(const sounds& all, const sample_order& order) {
    constexpr isize each = input_traits<Net, sounds>::numbers;
    features_.clear();
    for (const std::int32_t s : order)
      features_.insert(features_.end(), all.features + s * each, all.features + (s + 1) * each);
    out_ = {features_.data(), all.samples};
    return out_;
  }

 private:
  sounds out_;
  std::vector<float> features_;
};

template <class Net>
class arranged_input<Net, tokens> {
 public:
  const tokens& of(const tokens& all, const sample_order& order) {
    out_ = all;
    out_.ids = arranged(all.seq, order, all.ids, ids_);
    if (all.seq.offsets == nullptr) return out_;
    offsets_.assign(1, 0);
    for (const std::int32_t s : order) offsets_.push_back(offsets_.back() + all.seq.rows_of(s));
    out_.seq.offsets = offsets_.data();
    return out_;
  }
  // A number of each row, as the rows come.
  static const std::int32_t* arranged(const sequences& seq, const sample_order& order,
                                      const std::int32_t* from, std::vector<std::int32_t>& to) {
    if (from == nullptr) return nullptr;
    to.clear();
    for (const std::int32_t s : order) to.insert(to.end(), from + seq.begin(s), from + seq.end(s));
    return to.data();
  }

 private:
  tokens out_;
  std::vector<std::int32_t> ids_;
  std::vector<isize> offsets_;
};

template <class Net>
class arranged_input<Net, labelled_tokens> {
 public:
  const labelled_tokens& of(const labelled_tokens& all, const sample_order& order) {
    out_ = {words_.of(all, order), words_.arranged(all.seq, order, all.targets, targets_), all.share};
    return out_;
  }

 private:
  labelled_tokens out_;
  arranged_input<Net, tokens> words_;
  std::vector<std::int32_t> targets_;
};

namespace detail {

// This says which pictures come when samples with several of them are put in order, and which are whose then.
class pictures_of_samples {
 public:
  template <class Before>
  void arrange(const sample_order& order, Before&& before) {
    order_.clear();
    offsets_.assign(1, 0);
    for (const std::int32_t s : order) {
      for (isize p = before(s); p < before(s + 1); ++p) order_.push(static_cast<std::int32_t>(p));
      offsets_.push_back(order_.size());
    }
  }
  const sample_order& order() const { return order_; }
  const isize* offsets() const { return offsets_.data(); }

 private:
  sample_order order_;
  std::vector<isize> offsets_;
};

// Places of rows move with the sample that they are in.
inline void move_places(const std::int32_t* from, isize count, isize by, std::vector<std::int32_t>& to) {
  std::transform(from, from + count, std::back_inserter(to),
                 [by](std::int32_t at) { return at < 0 ? at : at + static_cast<std::int32_t>(by); });
}

}  // namespace detail

template <class Net, class Each>
class arranged_input<Net, several<Each>> {
 public:
  const several<Each>& of(const several<Each>& all, const sample_order& order) {
    whose_.arrange(order, [&](isize s) { return all.before(s); });
    out_ = {shown_.of(all, whose_.order()), all.of_samples, whose_.offsets()};
    return out_;
  }

 private:
  several<Each> out_;
  arranged_input<Net, Each> shown_;
  detail::pictures_of_samples whose_;
};

template <class Net>
class arranged_input<Net, pictured_tokens> {
 public:
  const pictured_tokens& of(const pictured_tokens& all, const sample_order& order) {
    const auto before = [&](isize s) { return all.picture_offsets == nullptr ? 0 : all.picture_offsets[s]; };
    whose_.arrange(order, before);
    const labelled_tokens& words = words_.of(all, order);
    constexpr isize rows = Net::eye::rows_of_picture;
    places_.clear();
    for (isize k = 0; k < order.size(); ++k) {
      const isize s = order[k];
      const isize first = all.seen.rows_before(before(s), rows);
      detail::move_places(all.places + first, all.seen.rows_before(before(s + 1), rows) - first,
                          words.seq.begin(k) - all.seq.begin(s), places_);
    }
    out_ = {words, shown_.of(all.seen, whose_.order()),
            all.picture_offsets == nullptr ? nullptr : whose_.offsets(), places_.data()};
    return out_;
  }

 private:
  pictured_tokens out_;
  arranged_input<Net, labelled_tokens> words_;
  arranged_input<typename Net::eye, pictures> shown_;
  detail::pictures_of_samples whose_;
  std::vector<std::int32_t> places_;
};

template <class Net>
class arranged_input<Net, placed_tokens> {
 public:
  const placed_tokens& of(const placed_tokens& all, const sample_order& order) {
    const labelled_tokens& words = words_.of(all, order);
    places_.clear();
    offsets_.clear();
    const std::int32_t* from = all.places;
    for (isize k = 0; k < all.sources; ++k) {
      const sequences rows = all.rows_that_enter(k);
      offsets_.push_back(0);
      for (isize at = 0; at < order.size(); ++at) {
        const isize s = order[at];
        if (from != nullptr)
          detail::move_places(from + rows.begin(s), rows.rows_of(s), words.seq.begin(at) - all.seq.begin(s),
                              places_);
        offsets_.push_back(offsets_.back() + rows.rows_of(s));
      }
      if (from != nullptr) from += rows.rows();
    }
    out_ = {words, all.row_offsets == nullptr ? nullptr : offsets_.data(),
            from == nullptr ? nullptr : places_.data(), all.entering, all.sources};
    return out_;
  }

 private:
  placed_tokens out_;
  arranged_input<Net, labelled_tokens> words_;
  std::vector<std::int32_t> places_;
  std::vector<isize> offsets_;
};

template <class Net>
class arranged_input<Net, tokens_beside> {
 public:
  const tokens_beside& of(const tokens_beside& all, const sample_order& order) {
    offsets_.assign(1, 0);
    for (const std::int32_t s : order) offsets_.push_back(offsets_.back() + all.rows_that_enter().rows_of(s));
    out_ = {words_.of(all, order), {all.row_offsets == nullptr ? nullptr : offsets_.data(), all.entering}};
    return out_;
  }

 private:
  tokens_beside out_;
  arranged_input<Net, labelled_tokens> words_;
  std::vector<isize> offsets_;
};

template <class Net>
class arranged_input<Net, fed_pictures> {
 public:
  const fed_pictures& of(const fed_pictures& all, const sample_order& order) {
    offsets_.assign(1, 0);
    for (const std::int32_t s : order) offsets_.push_back(offsets_.back() + all.rows_that_enter().rows_of(s));
    out_ = {drawn_.of(all, order), all.row_offsets == nullptr ? nullptr : offsets_.data(), all.entering};
    return out_;
  }

 private:
  fed_pictures out_;
  arranged_input<Net, drawn_pictures> drawn_;
  std::vector<isize> offsets_;
};

}  // namespace motet
