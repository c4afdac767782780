// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/runtime/feeds/join_shares.hpp>
#include <motet/runtime/stage/held_stage.hpp>
#include <motet/runtime/stage/model_table.hpp>

#include <algorithm>
#include <vector>

namespace motet {

// A rank's part in a join of a model. For each group all members bring their features together, each of them
// gets those that it has others to compare with, and computes the loss for its own rows alone. Where rows
// must know of the whole softmax of others, one number of each row follows in a second exchange; where they
// need not, the others' rows pass by member after member, and none stay. So features travel once and their
// gradients never. The numbers of the loss live on one rank, their owner, and come with its features.
template <class Context, class Numbers, class Endpoint>
class meeting_point {
 public:
  using master = typename Numbers::master;
  using model_type = model_table<Context, Numbers>;
  using home_type = rank_state<Context, Numbers, Endpoint>;

  // The rank of `home` is a member of the layout. join: which of the model's losses is found here.
  meeting_point(const model_type& model, home_type& home, const join_layout& layout, isize groups,
                std::size_t join = 0)
      : join_(model.of->joins[join]),
        loss_of_(model.losses[join]),
        home_(home),
        layout_(layout),
        row_bytes_(width() * static_cast<isize>(sizeof(master))),
        loss_size_(join_.numbers.size()),
        loss_bytes_(round_up(loss_size_ * static_cast<isize>(sizeof(master)), arena::alignment)),
        shares_(layout, join_.still,
                {row_bytes_, loss_bytes_, loss_of_.tells ? static_cast<isize>(sizeof(master)) : 0}),
        groups_(groups),
        me_(member_of(layout, home.rank)),
        matches_(modules(), std::vector<std::vector<isize>>(modules())) {}
  meeting_point(const meeting_point&) = delete;
  meeting_point& operator=(const meeting_point&) = delete;

  // Takes over the layout as it is now, between steps. There is room by the needs that were prepared.
  void lay_out() {
    features_ = shares_.features(me_);
    told_ = shares_.told(me_);
    again_ = shares_.exchanges_again();
    gradient_bytes_ = 0;
    for (std::size_t k = 0; k < modules(); ++k) {
      gradient_at_[k] = gradient_bytes_;
      if (!join_.still[k]) gradient_bytes_ += round_up(rows(k) * row_bytes_, arena::alignment);
      for (std::size_t j = 0; j < modules(); ++j)
        if (j != k && rows(k) > 0) matches_[k][j] = layout_.matches(me_, k, j);
    }
    // The owner first, as its numbers are needed; then each after this one, so that not all ask the same.
    const auto size = static_cast<std::int32_t>(layout_.size());
    sources_.clear();
    for (std::int32_t step = 0; step < size; ++step) {
      const std::int32_t from = step == 0 ? shares_.owner() : (me_ + step) % size;
      if ((step == 0 || from != shares_.owner()) && features_.in()[as_size(from)].bytes > 0)
        sources_.push_back(from);
    }
  }

  // Says whether the numbers of the loss live here: with the first member of the first module that learns.
  bool is_owner() const { return me_ == shares_.owner(); }
  // This rank's parts of the loss and of its numbers' gradients, where operations work; none: nothing learns.
  double* loss() const { return loss_.data(); }
  master* gradients() const { return gradients_.data(); }
  master* weights() const { return weights_.data(); }  // only with the owner, as the next three
  master* first() const { return first_.data(); }
  master* second() const { return second_.data(); }
  master* average() const { return average_.data(); }

  struct needs {
    isize own = 0, told = 0, received = 0, heard = 0, gradients = 0;
    isize features = 0;  // all of these, and the numbers of the loss
    isize work = 0, scratch = 0;
  };
  // Before prepare() tables of who brings what do not stay: those of thousands of ranks would take gigabytes.
  needs measure() {
    const bool stays = !features_.empty();
    if (!stays) lay_out();
    needs found;
    found.own = groups_ * features_.own_bytes();
    found.told = groups_ * told_.own_bytes();
    found.received = received_bytes();
    found.heard = told_.received_bytes();
    found.gradients = groups_ * gradient_bytes_;
    found.features = found.own + found.told + found.received + found.heard + found.gradients +
                     (is_owner() ? 5 : 1) * loss_bytes_ + static_cast<isize>(sizeof(double));
    std::byte* const any = nowhere<std::byte>();
    const group_memory at{any, any, any, any, any};
    double* const loss = nowhere<double>();
    all_pieces pieces(modules());
    find_pieces(at, pieces);
    for (int t = 0; t < home_.threads; ++t) {
      Context ctx = dry_context<Context>(t, home_.threads, home_.fp8);
      if (loss_of_.tells) {
        compare(ctx, at, pieces, loss, nowhere<master>());
        differentiate(ctx, at, pieces);
      } else {
        compare_alone(ctx, at, nowhere<master>(), loss, nowhere<master>());
        pass(ctx, at, me_, any, nowhere<master>(), loss, nowhere<master>());
        for (const std::int32_t from : sources_)
          pass(ctx, at, from, any, nowhere<master>(), loss, nowhere<master>());
      }
      found.work = std::max(found.work, ctx.memory.peak());
      found.scratch = std::max(found.scratch, ctx.scratch.peak());
    }
    if (!stays) features_ = told_ = {}, sources_ = {};
    return found;
  }
  // Room for other shares as well: the needs of a meeting of as many samples as each member ever brings
  // (join_layout::at_most).
  void prepare(const needs& most) {
    lay_out();
    for (auto& each : pieces_) each.reserve(as_size(layout_.size()));
    own_ = bytes_type(most.own);
    // Losses of samples that a smaller group lacks are zero, and nobody writes them.
    if (loss_of_.sum != nullptr)
      zero(home_.ctx, reinterpret_cast<master*>(own_.data()), most.own / static_cast<isize>(sizeof(master)));
    own_told_ = bytes_type(most.told);
    received_ = bytes_type(most.received);
    received_told_ = bytes_type(most.heard);
    d_features_ = bytes_type(most.gradients);
    loss_ = buffer_for<Context, double>(1);
    zero(home_.ctx, loss_.data(), 1);
    gradients_ = zeros();
    if (!loss_of_.tells) numbers_ = zeros();
    if (!is_owner()) return;
    for (buffer_type* each : {&weights_, &first_, &second_, &average_}) *each = zeros();
  }
  // The last stage of a voice puts its features of a microbatch of a group here, and finds their gradient;
  // none for a frozen module. There is room for those of the largest group.
  matrix<master> features_of(std::size_t module, std::int32_t voice, isize group, isize microbatch) const {
    const join_part& part = part_of(module, voice, microbatch);
    std::byte* const from =
        features_.at(own_.data() + group * features_.own_bytes(), nullptr, me_, shares_.section(module)) +
        part.row * row_bytes_;
    return features_in(from, part.samples.size());
  }
  matrix<const master> gradients_of(std::size_t module, std::int32_t voice, isize group,
                                    isize microbatch) const {
    const join_part& part = part_of(module, voice, microbatch);
    if (join_.still[module]) return {nullptr, part.samples.size(), width(), width()};
    std::byte* const from =
        d_features_.data() + group * gradient_bytes_ + gradient_at_[module] + part.row * row_bytes_;
    return features_in(from, part.samples.size());
  }
  void begin_step() {
    compared_ = here_[0] = here_[1] = false;
    passed_ = 0;
    zero(home_.ctx, loss_.data(), 1);
    zero(home_.ctx, gradients_.data(), loss_size_);
    for (isize group = 0; is_owner() && group < groups_; ++group)
      copy(home_.ctx, weights_.data(), reinterpret_cast<master*>(own_numbers(memory_of(group))), loss_size_);
  }
  action join_action() {
    return {[](void* self, const instruction& it, std::int32_t number) {
              return static_cast<meeting_point*>(self)->meet(it.microbatch, number);
            },
            this};
  }

 private:
  using all_pieces = std::vector<std::vector<matrix<const master>>>;  // of each module
  using bytes_type = buffer_for<Context, std::byte>;
  using buffer_type = buffer_for<Context, master>;

  // One group has own features and numbers, what came, what is told, what was heard, and gradients.
  struct group_memory {
    std::byte *own, *received, *told, *heard, *gradients;
  };
  group_memory memory_of(isize group) const {
    return {own_.data() + group * features_.own_bytes(), received_.data(),
            own_told_.data() + group * told_.own_bytes(), received_told_.data(),
            d_features_.data() + group * gradient_bytes_};
  }

  std::size_t modules() const { return join_.members.size(); }
  isize width() const { return join_.facts.embedding; }
  matrix<master> features_in(std::byte* data, isize samples) const {
    return {reinterpret_cast<master*>(data), samples, width(), width()};
  }
  static std::int32_t member_of(const join_layout& layout, std::int32_t rank) {
    if (layout.member(rank) < 0) fail(join_misfit, sentence({"rank ", rank, " has no seat"}));
    return layout.member(rank);
  }
  isize rows(std::size_t k) const { return layout_.rows(me_, k); }
  // Where the transport cannot bring rows of one member after the other, there is room for all.
  bool brings_all() const { return motet::brings_all(*home_.end); }
  // Rows of others are all here at once, or of two members at a time.
  isize received_bytes() const {
    if (loss_of_.tells) return features_.received_bytes();
    return (brings_all() ? features_.received_bytes() : (sources_.size() > 1 ? 2 : 1) * features_.largest()) +
           loss_bytes_;
  }
  buffer_type zeros() const {
    buffer_type all(loss_size_);
    zero(home_.ctx, all.data(), loss_size_);
    return all;
  }
  const join_part& part_of(std::size_t module, std::int32_t voice, isize microbatch) const {
    for (const join_part& each : layout_[me_].parts)
      if (each.module == static_cast<isize>(module) && each.voice == voice && each.microbatch == microbatch)
        return each;
    fail(join_misfit, sentence({"voice ", voice, " brings no microbatch ", microbatch, " of module ", module,
                                " to rank ", home_.rank}));
  }
  std::byte* own_numbers(const group_memory& at) const {
    return features_.at(at.own, nullptr, me_, join_shares::numbers_section);
  }
  master* numbers(const group_memory& at) const {
    return reinterpret_cast<master*>(
        features_.at(at.own, at.received, shares_.owner(), join_shares::numbers_section));
  }
  master* told(const group_memory& at, isize member, std::size_t of, std::size_t target) const {
    return reinterpret_cast<master*>(told_.at(at.told, at.heard, member, shares_.told_section(of, target)));
  }
  matrix<master> own_rows(const group_memory& at, std::size_t k) const {
    return features_in(features_.at(at.own, at.received, me_, shares_.section(k)), rows(k));
  }
  matrix<master> own_slopes(const group_memory& at, std::size_t k) const {
    if (join_.still[k]) return {};
    return features_in(at.gradients + gradient_at_[k], rows(k));
  }
  // All rows of each module that somebody here is compared with, in the order of members.
  void find_pieces(const group_memory& at, all_pieces& pieces) const {
    for (std::size_t k = 0; k < modules(); ++k) {
      pieces[k].clear();
      if (!shares_.compares_with(me_, k)) continue;
      for (isize m = 0; m < layout_.size(); ++m)
        if (layout_.rows(m, k) > 0)
          pieces[k].push_back(
              features_in(features_.at(at.own, at.received, m, shares_.section(k)), layout_.rows(m, k)));
    }
  }
  pair_part<master> part(const group_memory& at, const all_pieces& pieces, std::size_t i,
                         std::size_t j) const {
    return {own_rows(at, i), matches_[i][j].data(), pieces[j], layout_.samples()};
  }
  // Both modules are here, whole: then their pair is nobody else's business.
  bool alone(std::size_t i, std::size_t j) const {
    return rows(i) == layout_.samples() && rows(j) == layout_.samples();
  }
  // Says whether rows of both are compared part by part; where memory is counted for all shares, maybe.
  bool in_parts(std::size_t i, std::size_t j) const {
    return shares_.compares(me_, i, j) && (!layout_.exact() || !alone(i, j));
  }
  double share() const { return join_.facts.share / static_cast<double>(groups_); }

  // Slopes begin at zero, and with them whole pairs. Samples with losses of their own have no pairs.
  void compare_alone(Context& ctx, const group_memory& at, const master* w, double* loss, master* g) const {
    if (loss_of_.sum != nullptr)
      return add_number(ctx, loss_of_.sum(ctx, own_rows(at, 0), own_slopes(at, 0), join_.facts.weight), loss);
    for (std::size_t k = 0; k < modules(); ++k)
      if (!join_.still[k]) zero(ctx, sequences{rows(k), 1, nullptr}, own_slopes(at, k));
    for (std::size_t i = 0; i < modules(); ++i)
      for (std::size_t j = i + 1; j < modules(); ++j)
        if (alone(i, j))
          add_number(ctx,
                     loss_of_.pair(ctx, w, g, own_rows(at, i), own_rows(at, j), share(), own_slopes(at, i),
                                   own_slopes(at, j)),
                     loss);
  }

  // Where rows tell something: before the second exchange what they tell, the loss, and the gradients of its
  // numbers;
  void compare(Context& ctx, const group_memory& at, const all_pieces& pieces, double* loss,
               master* g) const {
    const master* const w = numbers(at);
    compare_alone(ctx, at, w, loss, g);
    for (std::size_t i = 0; i < modules(); ++i)
      for (std::size_t j = 0; j < modules(); ++j)
        if (in_parts(i, j))
          add_number(ctx, loss_of_.tell(ctx, w, g, part(at, pieces, i, j), share(), told(at, me_, i, j)),
                     loss);
  }
  // after it the gradients of all rows here.
  void differentiate(Context& ctx, const group_memory& at, const all_pieces& pieces) const {
    master* const nobody = nullptr;
    for (std::size_t i = 0; i < modules(); ++i) {
      for (std::size_t j = 0; j < modules(); ++j) {
        if (join_.still[i] || !in_parts(i, j)) continue;
        const isize mark = ctx.memory.mark();
        master* const others = ctx.memory.template take<master>(layout_.samples());
        for (isize m = 0, next = 0; m < layout_.size() && !ctx.measuring(); next += layout_.rows(m++, j))
          if (layout_.rows(m, j) > 0) copy(ctx, told(at, m, j, i), others + next, layout_.rows(m, j));
        const master *const own = told(at, me_, i, j), *const all = others;
        loss_of_.part(ctx, numbers(at), nobody, part(at, pieces, i, j), share(), own, all, own_slopes(at, i));
        release(ctx, mark);
      }
    }
  }

  // Where rows tell nothing, all rows here are compared with those of one member. Numbers that are found once
  // for each pair are counted by the first of two that learns.
  void pass(Context& ctx, const group_memory& at, std::int32_t from, std::byte* range, const master* w,
            double* loss, master* g) const {
    const master* const none = nullptr;
    for (std::size_t i = 0; i < modules(); ++i) {
      for (std::size_t j = 0; j < modules(); ++j) {
        if (layout_.rows(from, j) == 0 || !in_parts(i, j)) continue;
        const bool counts = i < j || join_.still[j];
        std::byte* const begin = from == me_ ? features_.at(at.own, nullptr, me_, shares_.section(j))
                                             : features_.in_range(range, from, shares_.section(j));
        const matrix<const master> columns = features_in(begin, layout_.rows(from, j));
        const pair_part<master> some{own_rows(at, i),
                                     matches_[i][j].data(),
                                     {&columns, 1},
                                     layout_.samples(),
                                     layout_.first_row(from, j)};
        const auto found =
            loss_of_.part(ctx, w, counts ? g : nullptr, some, share(), none, none, own_slopes(at, i));
        if (counts) add_number(ctx, found, loss);
      }
    }
  }
  // There is room for two members' rows, as the next ones come while those of one are compared; or for all.
  std::byte* room(std::size_t which) const {
    if (brings_all()) return received_.data() + features_.in()[as_size(sources_[which])].offset;
    return received_.data() + static_cast<isize>(which % 2) * features_.largest();
  }
  bool fetch(const group_memory& at, std::int32_t tag, std::size_t which) {
    if (brings_all()) return true;
    const std::int32_t from = sources_[which];
    bool& here = here_[which % 2];
    if (!here)
      here = home_.end->fetch(tag, me_, at.own, features_.out(), from, room(which),
                              features_.in()[as_size(from)].bytes);
    return here;
  }
  bool all_pass(const group_memory& at, std::int32_t tag) {
    home_.ctx.memory = home_.work;
    const auto begin = [&](std::byte* numbers) {
      together([&](Context& ctx) {
        copy(ctx, reinterpret_cast<const master*>(numbers), numbers_.data(), loss_size_);
        compare_alone(ctx, at, numbers_.data(), loss_.data(), gradients_.data());
        pass(ctx, at, me_, nullptr, numbers_.data(), loss_.data(), gradients_.data());
      });
    };
    if (brings_all()) {
      if (!home_.end->exchange(tag, me_, at.own, features_.out(), at.received, features_.in())) return false;
    } else if (passed_ == 0) {
      home_.end->fetch(tag, me_, at.own, features_.out(), me_, nullptr, 0);
    }
    for (; passed_ < sources_.size(); ++passed_) {
      if (!fetch(at, tag, passed_)) return false;
      if (passed_ + 1 < sources_.size()) fetch(at, tag, passed_ + 1);
      const std::int32_t from = sources_[passed_];
      if (passed_ == 0)
        begin(is_owner() ? own_numbers(at) : features_.in_range(room(0), from, join_shares::numbers_section));
      together([&](Context& ctx) {
        pass(ctx, at, from, room(passed_), numbers_.data(), loss_.data(), gradients_.data());
      });
      here_[passed_ % 2] = false;
    }
    if (sources_.empty() && (is_owner() || loss_of_.sum != nullptr))
      begin(is_owner() ? own_numbers(at) : nullptr);
    passed_ = 0;
    return true;
  }

  template <class Body>
  void together(Body&& body) {
    home_.together([&](Context& ctx, int) {
      const auto section = enter(ctx, "loss");
      body(ctx);
    });
  }
  bool meet(std::int32_t group, std::int32_t number) {
    const std::int32_t tag = home_.sheet->tags[number];
    const group_memory at = memory_of(group);
    if (!compared_) {
      if (loss_of_.tells) {
        if (!home_.end->exchange(tag, me_, at.own, features_.out(), at.received, features_.in()))
          return false;
        find_pieces(at, pieces_);
        home_.ctx.memory = home_.work;
        together([&](Context& ctx) { compare(ctx, at, pieces_, loss_.data(), gradients_.data()); });
      } else if (!all_pass(at, tag)) {
        return false;
      }
      if (shares_.hands_over(me_)) hand_over(at);
      compared_ = true;
    }
    if (again_ &&
        !home_.end->exchange(home_.sheet->second(tag), me_, at.told, told_.out(), at.heard, told_.in()))
      return false;
    if (is_owner()) take_over(at);
    home_.ctx.memory = home_.work;
    if (loss_of_.tells) together([&](Context& ctx) { differentiate(ctx, at, pieces_); });
    compared_ = false;
    return true;
  }
  void hand_over(const group_memory& at) {
    std::byte* const to = told_.at(at.told, at.heard, me_, join_shares::handed_section);
    copy(home_.ctx, loss_.data(), reinterpret_cast<double*>(to), 1);
    copy(home_.ctx, gradients_.data(), reinterpret_cast<master*>(to + join_shares::handed_numbers),
         loss_size_);
    zero(home_.ctx, loss_.data(), 1);
    zero(home_.ctx, gradients_.data(), loss_size_);
  }
  void take_over(const group_memory& at) {
    for (isize m = 0; m < layout_.size(); ++m) {
      if (!shares_.hands_over(m)) continue;
      const std::byte* const from = told_.at(at.told, at.heard, m, join_shares::handed_section);
      accumulate(home_.ctx, reinterpret_cast<const double*>(from), loss_.data(), 1);
      accumulate(home_.ctx, reinterpret_cast<const master*>(from + join_shares::handed_numbers),
                 gradients_.data(), loss_size_);
    }
  }

  const join_outline& join_;
  const loss_table<Context, Numbers>& loss_of_;
  home_type& home_;
  const join_layout& layout_;
  isize row_bytes_, loss_size_, loss_bytes_;
  join_shares shares_;
  isize groups_;
  std::int32_t me_;
  section_exchange features_, told_;
  bool again_ = false;     // whether there is a second exchange
  bool compared_ = false;  // the group under way waits for it
  isize gradient_bytes_ = 0;
  std::vector<isize> gradient_at_ = std::vector<isize>(modules());
  std::vector<std::vector<std::vector<isize>>> matches_;  // of own rows of a module, for another
  all_pieces pieces_ = all_pieces(modules());
  std::vector<std::int32_t> sources_;  // the members whose rows come here, in their order
  std::size_t passed_ = 0;             // of them, in the group under way
  bool here_[2] = {};                  // whether the rows of the next two came
  bytes_type own_, own_told_, received_, received_told_, d_features_;
  // of the loss; the last are those of the group under way
  buffer_type weights_, gradients_, first_, second_, average_, numbers_;
  buffer_for<Context, double> loss_;  // one number
};

}  // namespace motet
