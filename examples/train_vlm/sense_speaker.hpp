// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sense_model.hpp"

#include <motet/front/trained/speaker.hpp>
#include <motet/runtime/stage/fed_inputs.hpp>

#include <utility>
#include <vector>

namespace motet::train_vlm {

// A model that sees and hears speaks of a sample, and tells the loss of many, on the processors of this
// process: what its eye, its ear and their projectors make enters the language model.
template <class Model, class Numbers>
class sense_speaker {
  template <fixed_string Name>
  using net = typename Model::template module_at<Model::template position<Name>()>::net;
  using talk = net<"talk">;

 public:
  // All weights of the model, which stay where they are.
  sense_speaker(cpu::device& device, const float* weights)
      : device_(device), weights_(weights), says_(device, of<"talk">().data) {}

  template <class Hear>
  said_tokens say_after(const pictured_tokens& sample, const saying& how, Hear&& hear) {
    return says_.say_after(entered(sample), how, std::forward<Hear>(hear));
  }
  // The loss of each sample.
  std::vector<float> losses_of(const pictured_tokens& batch) {
    const placed_tokens placed = entered(batch);
    std::vector<float> out(as_size(batch.seq.samples));
    run([&](cpu::context& ctx) {
      talk::infer(ctx, of<"talk">(), placed, view<float, 1>(out.data(), batch.seq.samples));
    });
    return out;
  }

 private:
  using stream = typename Numbers::stream;
  static constexpr isize rows_of_picture = net<"eye">::rows_of_picture,
                         rows_of_sound = net<"ear">::rows_of_sound, width = talk::takes_rows;

  template <fixed_string Name>
  motet::weights<Numbers> of() const {
    return {weights_ + Model::offsets[Model::template position<Name>()]};
  }
  template <class Run>
  void run(Run&& body) {
    device_.prepare(device_.dry_run(body));
    device_.run(body, {0, 0, 0, false});
  }
  // The rows that a module with an input of its own makes, as the projector behind it takes them on.
  template <fixed_string Own, fixed_string Behind, class Input>
  void sense(const Input& batch, isize rows, stream* to) {
    if (rows == 0) return;
    made_.resize(as_size(rows * net<Own>::embedding));
    run([&](cpu::context& ctx) {
      net<Own>::infer(ctx, of<Own>(), batch, {made_.data(), rows});
      synchronize(ctx);
      typename net<Behind>::stage::template ends<Numbers> ends;
      ends.features = {to, rows};
      net<Behind>::stage::infer(ctx, {0, 1}, of<Behind>(), through_rows{{rows, 1, nullptr}, {made_.data()}},
                                ends);
    });
  }
  placed_tokens entered(const pictured_tokens& batch) {
    const isize seen = batch.seen.rows_before(batch.seen.samples, rows_of_picture),
                heard = batch.heard.samples * rows_of_sound;
    rows_.resize(as_size((seen + heard) * width));
    sense<"eye", "glue">(seen_pictures{batch.seen, batch.seq.samples, batch.picture_offsets}, seen,
                         rows_.data());
    sense<"ear", "tune">(batch.heard, heard, rows_.data() + seen * width);
    placed_tokens out = places_.of(batch);
    out.entering.rows = rows_.data();
    return out;
  }

  cpu::device& device_;
  const float* weights_;
  speaker<talk, Numbers> says_;
  sensed_places places_{rows_of_picture, rows_of_sound};
  std::vector<stream> made_, rows_;
};

}  // namespace motet::train_vlm
