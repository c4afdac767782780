// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/data/produce/step_message.hpp>
#include <motet/data/steps/pair_maker.hpp>
#include <motet/data/steps/sample_maker.hpp>

#include <algorithm>
#include <span>

// The slot of a maker is told as words of a step, and heard again by a slot of the same kind elsewhere, whose
// room has the pictures' bytes by then. A pair is a picture and a text that is asked for.
namespace motet {

inline void tell_place(const data_position& after, step_words& out) {
  out.next = after.next;
  out.waiting = after.waiting;
}

inline void tell_step(const sample_maker::slot& own, step_words& out) {
  out.clear();
  const sample_batch& batch = own.batch;
  out.first = batch.first;
  out.pictures = batch.pictures;
  out.samples = batch.samples;
  for (std::size_t at = 0; at < batch.samples.size(); ++at) {
    const bool there = batch.samples[at] >= 0;
    out.stretches.push_back(there ? static_cast<isize>(own.said[at].order.size()) : 0);
    if (!there) continue;
    const auto& said = own.said[at];
    out.order.insert(out.order.end(), said.order.begin(), said.order.end());
    out.tokens.insert(out.tokens.end(), said.tokens.begin(), said.tokens.end());
  }
  out.heard = batch.features;
  const auto sizes = own.shown.sizes(batch.pictures);
  out.packed.assign(sizes.begin(), sizes.end());
  tell_place(own.after, out);
}
inline void hear_step(const step_words& told, sample_maker::slot& own) {
  sample_batch& batch = own.batch;
  batch.first = told.first;
  batch.samples = told.samples;
  batch.text.clear();
  const read_sample::stretch* at = told.order.data();
  std::span<const tokenizer::token> rest(told.tokens);
  for (const isize each : told.stretches) {
    for (isize k = 0; k < each; ++k, ++at) {
      sample_maker::say(*at, rest.first(as_size(at->tokens)), batch.text, own.form.lead);
      rest = rest.subspan(as_size(at->tokens));
    }
    batch.text.end();
  }
  batch.features = told.heard;
  batch.sounds = std::count_if(told.order.begin(), told.order.end(),
                               [](const auto& each) { return each.kind == piece_kind::sound; });
  own.shown.take(told.packed);
  batch.pictures = told.pictures;
  batch.pixels = own.shown.pixels(batch.pictures);
  batch.packed = own.shown.packed();
  batch.count_rows(own.form);
}

inline void tell_step(const pair_maker::slot& own, step_words& out) {
  out.clear();
  const pair_batch& batch = own.batch;
  out.first = batch.first;
  out.pictures = batch.count;
  out.samples = batch.samples;
  out.stretches.assign(batch.samples.size(), 2);
  out.tokens = batch.tokens;
  for (isize at = 0; at < batch.count; ++at) {
    out.order.push_back({piece_kind::picture, 0});
    out.order.push_back({piece_kind::asked, batch.captions().rows_of(at)});
  }
  const auto sizes = own.shown.sizes(batch.count);
  out.packed.assign(sizes.begin(), sizes.end());
  tell_place(own.after, out);
}
inline void hear_step(const step_words& told, pair_maker::slot& own) {
  pair_batch& batch = own.batch;
  batch.first = told.first;
  batch.samples = told.samples;
  batch.tokens = told.tokens;
  const read_sample::stretch* at = told.order.data();
  isize end = batch.offsets[0] = 0;
  for (std::size_t s = 0; s < told.stretches.size(); ++s) {
    isize pictures = 0;
    for (isize k = 0; k < told.stretches[s]; ++k, ++at) {
      pictures += at->kind == piece_kind::picture ? 1 : 0;
      end += at->tokens;
    }
    if (pictures != 1) fail(damaged_step, sentence({"a pair with ", pictures, " pictures"}));
    batch.offsets[s + 1] = end;
  }
  own.shown.take(told.packed);
}

}  // namespace motet
