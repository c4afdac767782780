// SPDX-License-Identifier: Apache-2.0
// labels: threads
// races: runtime/train/pipeline_trainer
#include <motet/runtime/stage/held_stage.hpp>

#include <motet/backend/cpu/device.hpp>
#include <motet/backend/transport/local/local.hpp>
#include <motet/nn/compose/frozen.hpp>
#include <motet/nn/towers/text.hpp>
#include <motet/runtime/stage/stage_seats.hpp>
#include <motet/runtime/state/initialise.hpp>
#include <motet/schedule/check/buffers.hpp>
#include <motet/schedule/core/compile.hpp>
#include <motet/schedule/core/compose.hpp>
#include <motet/schedule/write/batch_sync.hpp>
#include <motet/schedule/write/gpipe.hpp>
#include <motet/schedule/write/one_f_one_b.hpp>
#include <motet/schedule/write/zero_bubble.hpp>

#include <doctest/doctest.h>

using namespace motet;

namespace {

using ear = text_tower<text_config{
    .vocabulary = 20, .context = 6, .width = 8, .layers = 4, .heads = 2, .embedding = 4}>;
using held = held_stage<cpu::context, fp32, local::endpoint>;
using view_type = view<float, 4>;

// Captions, and the gradients of their features.
struct batch_data {
  std::vector<std::int32_t> ids;
  std::vector<motet::isize> offsets{0};
  std::vector<float> d_features;
  explicit batch_data(motet::isize samples, bool full = false) {
    const random_stream draw(3, "data");
    for (motet::isize s = 0; s < samples; ++s) {
      const auto drawn = static_cast<motet::isize>(1 + draw.below(static_cast<std::uint64_t>(s), 6));
      const motet::isize length = full ? 6 : drawn;
      for (motet::isize k = 0; k < length; ++k)
        ids.push_back(static_cast<std::int32_t>(draw.below(100 + ids.size(), 20)));
      offsets.push_back(static_cast<motet::isize>(ids.size()));
    }
    for (motet::isize i = 0; i < samples * 4; ++i)
      d_features.push_back(static_cast<float>(draw.normal(static_cast<std::uint64_t>(i))));
  }
  motet::isize samples() const { return static_cast<motet::isize>(offsets.size()) - 1; }
  tokens all() const { return {ids.data(), {samples(), 0, offsets.data()}}; }
};

// A tower on the ranks of a program, all on this thread: each rank in the order of its list, whoever can go
// on.
class chain {
 public:
  chain(const score& order, const batch_data& data, const std::vector<motet::isize>& layers,
        bool remade = false, bool by_rows = false)
      : sheet_(compile(order, {messages::in_channels, false})),
        world_(sheet_.of.ranks(), sheet_.messages, meetings()) {
    const program& of = sheet_.of;
    const voice& sings = of.voices[0];
    parts = std::make_unique<replica_microbatches<ear>>(data.samples(), 1, sings.microbatches);
    parts->cut(data.all());
    features.resize(data.d_features.size(), -1);
    for (std::int32_t r = 0; r < of.ranks(); ++r) {
      ends_.push_back(std::make_unique<local::endpoint>(world_, r));
      homes_.push_back(std::make_unique<held::home_type>());
      homes_.back()->rank = r;
      homes_.back()->end = ends_.back().get();
      homes_.back()->sheet = &sheet_;
    }
    buffer_counts counts;
    REQUIRE(count_buffers(of, counts).ok());
    stage_position at;
    at.learns = sings.learns;
    for (const instruction& each : of.instructions) at.splits = at.splits || each.what == op::backward_input;
    for (std::int32_t s = 0; s < sings.stages; ++s) {
      at.rank = of.places[s];
      at.range = {at.range.last, at.range.last + layers[static_cast<std::size_t>(s)]};
      at.slots = of.slots[s];
      at.remade = remade;
      at.parameters = ear::stage::parameter_end(at.range) - ear::stage::parameter_begin(at.range);
      at.moments = at.learns ? at.parameters : 0;
      for (int kind = 0; kind < 3; ++kind) {
        at.in[kind] = counts.in[kind][s];
        at.out[kind] = counts.out[kind][s];
      }
      if (by_rows) at.orders[0].seats = seats_of_stage(of, 0, s, counts);
      stages.push_back(std::make_unique<held>(*homes_[static_cast<std::size_t>(at.rank)],
                                              table_of_net<ear, cpu::context, fp32>, at, *parts));
    }
    for (std::size_t s = 0; s + 1 < stages.size(); ++s)
      if (of.places[static_cast<motet::isize>(s)] == of.places[static_cast<motet::isize>(s) + 1])
        stages[s]->rows().connect(stages[s + 1]->rows());
    for (auto& home : homes_) {
      motet::isize work = 0, scratch = 0;
      for (auto& each : stages) {
        work = std::max(work, each->measure().work);
        scratch = std::max(scratch, each->measure().scratch);
      }
      home->prepare(work, scratch);
    }
    std::vector<float> whole(static_cast<std::size_t>(ear::parameter_size));
    initialise(layer::parameters_of<ear>("ear"), 1, whole.data(), ear::parameter_size);
    for (auto& each : stages) {
      each->prepare(each->measure());
      std::copy_n(whole.data() + ear::stage::parameter_begin(each->at().range), each->at().parameters,
                  each->weights_data());
    }
    for (auto& each : stages)
      if (each->at().by_rows()) {
        each->measure_step();
        arena dry;
        lay_out(*each, dry);
        arena room = arena_of(rooms.emplace_back(dry.mark()));
        lay_out(*each, room);
      }
    std::vector<matrix<float>> to;
    std::vector<matrix<const float>> from;
    for (motet::isize m = 0; m < parts->count(); ++m) {
      to.push_back(view_type{features.data() + parts->of(m).begin * 4, parts->of(m).size()});
      from.push_back(
          view<const float, 4>{data.d_features.data() + parts->of(m).begin * 4, parts->of(m).size()});
    }
    stages.back()->set_features(to, from);
  }
  // Returns false when nobody can go on.
  bool step(bool zero = true) {
    for (auto& each : ends_) each->begin_step();
    for (auto& each : stages) each->begin_step(zero && each->at().learns);
    std::vector<std::int32_t> next;
    for (std::int32_t r = 0; r < sheet_.of.ranks(); ++r) next.push_back(sheet_.of.starts[r]);
    for (bool moves = true; moves;) {
      moves = false;
      for (std::int32_t r = 0; r < sheet_.of.ranks(); ++r) {
        std::int32_t& i = next[static_cast<std::size_t>(r)];
        for (; i < sheet_.of.starts[r + 1]; ++i) {
          const instruction& it = sheet_.of.instructions[i];
          if (it.what == op::join) continue;
          const action own = stages[static_cast<std::size_t>(it.stage)]->action_of(it.what);
          REQUIRE((own.run != nullptr));
          if (!own.run(own.stage, it, i)) break;
          moves = true;
        }
      }
    }
    for (std::int32_t r = 0; r < sheet_.of.ranks(); ++r)
      if (next[static_cast<std::size_t>(r)] != sheet_.of.starts[r + 1]) return false;
    return true;
  }
  std::vector<float> gradients() const {
    std::vector<float> flat(static_cast<std::size_t>(ear::parameter_size), 0.0f);
    for (const auto& each : stages)
      std::copy_n(each->gradients_data(), each->at().parameters,
                  flat.data() + ear::stage::parameter_begin(each->at().range));
    return flat;
  }

  std::unique_ptr<replica_microbatches<ear>> parts;
  std::vector<std::unique_ptr<held>> stages;
  std::vector<float> features;
  std::vector<buffer<std::byte>> rooms;  // of each stage, where they follow rows

 private:
  static void lay_out(held& stage, arena& room) {
    stage.lay_out_slots(room);
    stage.rows().lay_out(room);
  }
  std::vector<std::vector<std::int32_t>> meetings() const {
    return std::vector<std::vector<std::int32_t>>(
        static_cast<std::size_t>(sheet_.graph.meeting_sizes.size()));
  }
  score_sheet sheet_;
  local::world world_;
  std::vector<std::unique_ptr<local::endpoint>> ends_;
  std::vector<std::unique_ptr<held::home_type>> homes_;
};

// The whole tower, a microbatch after the other.
struct outcome {
  std::vector<float> features, gradients;
};
outcome alone(const batch_data& data, const replica_microbatches<ear>& parts) {
  outcome out{std::vector<float>(data.d_features.size()),
              std::vector<float>(static_cast<std::size_t>(ear::parameter_size), 0.0f)};
  std::vector<float> w(out.gradients.size());
  initialise(layer::parameters_of<ear>("ear"), 1, w.data(), ear::parameter_size);
  cpu::device device(1);
  const auto run = [&](auto& ctx) {
    for (motet::isize m = 0; m < parts.count(); ++m) {
      const interval own = parts.of(m);
      const motet::isize mark = ctx.memory.mark();
      ear::saved<fp32> saved;
      ear::reserve<fp32>(ctx, parts[m], saved);
      ear::forward(ctx, weights<fp32>{w.data()}, parts[m],
                   view_type{out.features.data() + own.begin * 4, own.size()}, saved);
      ear::backward(ctx, weights<fp32>{w.data()}, parts[m],
                    view_type{const_cast<float*>(data.d_features.data()) + own.begin * 4, own.size()}, saved,
                    gradients<fp32>{out.gradients.data()});
      ctx.memory.release(mark);
    }
  };
  device.prepare(device.dry_run(run));
  device.run(run);
  return out;
}

}  // namespace

TEST_CASE("stages of a tower give its features and gradients to the last bit") {
  const batch_data data(7);
  for (const score& order :
       {gpipe::write({3, 3}), one_f_one_b::write({3, 4}), zb_h2::write({3, 5}),
        batch_sync::write({{{3, 4, 4, 2, 1}}, 1}), batch_sync::write({{{3, 7, 7, 0}}, 1})}) {
    for (const auto& layers : {std::vector<motet::isize>{1, 2, 1}, {2, 1, 1}}) {
      chain many(order, data, layers);
      const outcome wanted = alone(data, *many.parts);
      for (int turn = 0; turn < 2; ++turn) {
        CHECK(many.step());
        CHECK(many.features == wanted.features);
        CHECK(many.gradients() == wanted.gradients);
      }
      for (const auto& each : many.stages) {
        CHECK(each->used_of_slots() > 0);
        CHECK(each->used_of_slots() <= each->measure().slot);
      }
    }
  }
}

TEST_CASE("slots and buffers that follow rows: the same to the last bit, in the bytes of these rows") {
  const score turns = one_f_one_b::write({3, 3}), joins = batch_sync::write({{{3, 3, 3, 2, 1}}, 1}),
              split = zb_h2::write({3, 3});
  for (const bool full : {true, false})
    for (const bool remade : {false, true})
      for (const score* order : std::initializer_list<const score*>{&turns, &joins, &split}) {
        if (remade && order == &split) continue;  // backward in two parts keeps
        const batch_data data(6, full);
        chain many(*order, data, {1, 2, 1}, remade, true);
        const outcome wanted = alone(data, *many.parts);
        for (int turn = 0; turn < 2; ++turn) {
          CHECK(many.step());
          CHECK(many.features == wanted.features);
          CHECK(many.gradients() == wanted.gradients);
        }
        for (std::size_t s = 0; s < many.stages.size(); ++s) {
          const stage_memory most = many.stages[s]->measure().own;
          CAPTURE(s);
          if (full) CHECK(many.rooms[s].size() == most.slots + most.boundaries);
          else CHECK(many.rooms[s].size() < most.slots + most.boundaries);
        }
      }
}

TEST_CASE("neighbours on one rank pass rows without messages") {
  const batch_data data(6);
  for (const auto& places : {std::vector<int>{0, 0, 0}, {0, 0, 1}, {0, 1, 1}, {1, 0, 1}}) {
    score order;
    voice made;
    made.stages = 3;
    made.microbatches = 3;
    order.add(made, [&](int stage) { return places[static_cast<std::size_t>(stage)]; });
    for (int r = 0; r < 2; ++r) {
      order.rank();
      for (int m = 0; m < 3; ++m)
        for (int s = 0; s < 3; ++s)
          if (places[static_cast<std::size_t>(s)] == r) order.play(op::forward, 0, s, m);
      for (int m = 0; m < 3; ++m)
        for (int s = 3; s-- > 0;)
          if (places[static_cast<std::size_t>(s)] == r)
            order.play(m == 1 ? op::backward_input : op::backward, 0, s, m);
      for (int s = 0; s < 3; ++s)
        if (places[static_cast<std::size_t>(s)] == r) order.play(op::backward_weight, 0, s, 1);
    }
    chain many(order, data, {1, 2, 1});
    const outcome wanted = alone(data, *many.parts);
    CHECK(many.step());
    CHECK(many.features == wanted.features);
    // Microbatch 1 adds its gradients last, so sums round otherwise.
    const std::vector<float> found = many.gradients();
    double off = 0, size = 0;
    for (std::size_t i = 0; i < found.size(); ++i) {
      off += std::pow(static_cast<double>(found[i]) - static_cast<double>(wanted.gradients[i]), 2);
      size += std::pow(static_cast<double>(wanted.gradients[i]), 2);
    }
    CHECK(std::sqrt(off / size) < 1e-6);
  }
}

TEST_CASE("a stage that makes again what backward needs gives the same, and keeps nothing") {
  const batch_data data(6);
  for (const bool synchronous : {false, true}) {
    const score order =
        synchronous ? batch_sync::write({{{3, 3, 3, 1, 0, false}}, 1}) : one_f_one_b::write({3, 3});
    chain kept(order, data, {1, 2, 1}), remade(order, data, {1, 2, 1}, true);
    CHECK(kept.step());
    CHECK(remade.step());
    CHECK(remade.features == kept.features);
    CHECK(remade.gradients() == kept.gradients());
    for (const auto& each : remade.stages) CHECK(each->used_of_slots() == 0);
  }
}

TEST_CASE("the last backward of a step tells every gradient, once") {
  const batch_data data(6);
  for (const score& order : {one_f_one_b::write({2, 3}), zb_h1::write({2, 3})}) {
    chain many(order, data, {2, 2});
    std::vector<int> told;
    const float* from = nullptr;
    struct listener {
      std::vector<int>& told;
      const float*& from;
    } hears{told, from};
    held& stage = *many.stages[0];
    stage.set_sink({[](void* self, const void* at, motet::isize count) {
                      auto& own = *static_cast<listener*>(self);
                      for (motet::isize i = 0; i < count; ++i)
                        ++own.told[static_cast<std::size_t>(static_cast<const float*>(at) - own.from + i)];
                    },
                    &hears});
    from = stage.gradients_data();
    for (int turn = 0; turn < 2; ++turn) {
      told.assign(static_cast<std::size_t>(stage.at().parameters), 0);
      CHECK(many.step());
      CHECK(told == std::vector<int>(told.size(), 1));
    }
  }
}

TEST_CASE("gradients add up until they are cleared") {
  const batch_data data(4);
  chain many(gpipe::write({2, 2}), data, {2, 2});
  CHECK(many.step());
  const std::vector<float> once = many.gradients();
  CHECK(many.step(false));
  const std::vector<float> twice = many.gradients();
  CHECK(once != twice);
  CHECK(many.step());
  CHECK(many.gradients() == once);
}

TEST_CASE("what does not learn has weights alone, and gives the same features") {
  const batch_data data(6);
  chain many(without_backward(one_f_one_b::write({3, 3}), 0), data, {1, 1, 2});
  CHECK(many.step());
  CHECK(many.features == alone(data, *many.parts).features);
  for (const auto& each : many.stages) {
    CHECK(each->gradients_data() == nullptr);
    CHECK(each->first() == nullptr);
    CHECK(each->used_of_slots() == 0);
  }
}

TEST_CASE("a stage has no action for what it does not do itself") {
  const batch_data data(2);
  chain one(gpipe::write({1, 1}), data, {4});
  for (const op what : {op::join, op::optimizer_step, op::reduce_gradient, op::load})
    CHECK((one.stages[0]->action_of(what).run == nullptr));
  CHECK_FALSE(one.stages[0]->rows().comes_in());
  CHECK_FALSE(one.stages[0]->rows().goes_out());
  CHECK(one.stages[0]->at().parameters == ear::parameter_size);
}
