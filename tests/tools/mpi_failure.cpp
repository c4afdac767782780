// SPDX-License-Identifier: Apache-2.0
// Ranks of MPI of which one fails in the way that the first word says: what the others do is looked at by
// tests/programs/mpi_failure.sh.
//   mpi_failure HOW                           a ring of messages and a sum in each step
//   mpi_failure run FOLDER STEPS BOUND [HOW]  a program for three ranks, with checkpoints; goes on from the
//   newest one
//   mpi_failure verify FOLDER                 looks at every checkpoint there, by one process
#include <motet/backend/groups/any_group.hpp>
#include <motet/backend/transport/mpi/mpi_group.hpp>
#include <motet/format/checkpoint/checkpoint_finish.hpp>
#include <motet/runtime/ranks/launch.hpp>
#include <motet/runtime/ranks/process_rank.hpp>
#include <motet/schedule/core/compile.hpp>
#include <motet/schedule/write/batch_sync.hpp>
#include <motet/schedule/write/through.hpp>
#include <motet/tools/process/exit_code.hpp>

#include <csignal>
#include <string_view>

using namespace motet;

namespace {

// A ring of messages and a sum in each step, in which rank 1 fails.
int train(mpi::session& here, std::string_view how) {
  const std::int32_t ranks = here.ranks(), me = here.rank(), next = (me + 1) % ranks,
                     before = (me + ranks - 1) % ranks;
  std::vector<std::vector<std::int32_t>> all(1);
  for (std::int32_t r = 0; r < ranks; ++r) all[0].push_back(r);
  std::vector<float> sum(100000, 1.0f);
  std::vector<std::byte> from(300000), to(from.size());
  const auto bytes = static_cast<motet::isize>(from.size());
  mpi::world world(ranks, ranks, {});
  mpi::endpoint end(world, me);
  mpi::group_set set(world, all);
  mpi::group group(set, 0, end);
  std::jthread watch;
  for (int step = 0; step < 50; ++step) {
    end.begin_step();
    if (step == 20 && me == 1) {
      if (how == "throw") fail(mpi_failed, "rank 1 broke in step 20");
      if (how == "kill") std::raise(SIGKILL);
      // Not before rank 2 is there.
      if (how == "deaf") std::this_thread::sleep_for(std::chrono::milliseconds(700));
      if (how == "deaf") fail(mpi_failed, "rank 1 broke, and rank 2 does not listen");
    }
    if (step == 20 && me == 2 && how == "deaf") std::this_thread::sleep_for(std::chrono::seconds(60));
    end.send(me, next, from.data(), bytes);
    for (bool received = false, sent = false; !received || !sent;) {
      const std::uint32_t seen = end.observe();
      received = received || end.receive(before, before, to.data(), bytes);
      sent = sent || end.sent(me);
      if (!received || !sent) end.pause(seen);
    }
    if (step == 20 && me == 1) {
      if (how == "stuck") {
        watch = std::jthread([&] {
          std::this_thread::sleep_for(std::chrono::milliseconds(300));
          world.stop("nothing moved for 0.3 s");
        });
        for (;;) end.pause(end.observe());
      }
      if (how == "short") group.wait(group.barrier());
    }
    group.wait(group.all_reduce_sum(sum.data(), 100000));
  }
  return 0;
}

// Three processes run these: two stages of one module, one of another, which meet in a join and at the end of
// the step; or, where HOW is chain, three modules of which each feeds the next. Each rank holds a third of
// the weights. The numbers that all ranks bring to the end of a step are added to every weight, so a
// checkpoint of step s has but one right content.
class player {
 public:
  static constexpr motet::isize rows = 900, width = 64, mine = rows / 3 * width, message_size = 5000;
  static constexpr const char* model = "a model of mpi_failure";

  player(mpi::session& here, double bound, std::string_view how)
      : own_(score_for(here, how), options_for(here, bound, how)),
        set_(own_.world(), all_ranks()),
        group_(set_, 0, own_.end(here.rank())),
        everyone_(group_),
        how_(how),
        bound_(bound) {
    std::iota(weights_.begin(), weights_.end(), static_cast<float>(here.rank() * mine));
    const program& of = own_.sheet().of;
    for (std::int32_t i = of.starts[own_.rank()]; i < of.starts[own_.rank() + 1]; ++i)
      own_.player(own_.rank()).set(i, {&act, this});
  }
  static float weight(motet::isize number, std::int64_t step) {
    return static_cast<float>(number + 6 * step);
  }

  int run(const std::filesystem::path& folder, std::int64_t steps) {
    if (latest_checkpoint(folder)) load(folder);
    std::printf("rank %d pid %d begins at step %lld\n", own_.rank(), static_cast<int>(::getpid()),
                static_cast<long long>(step_));
    std::fflush(stdout);
    while (step_ < steps) {
      own_.run([](std::int32_t) {});
      ++step_;
      if (step_ % 5 == 0 || step_ == steps) save(folder);
    }
    own_.barrier();
    if (own_.rank() == 0) std::printf("ended at step %lld\n", static_cast<long long>(step_));
    return 0;
  }

 private:
  using host = process_rank<mpi::world, mpi::endpoint>;
  static program score_for(const mpi::session& here, std::string_view how) {
    if (how == "chain") return chain();
    const bool other = how == "program" && here.rank() == 1;
    return compile(batch_sync::write({{{2, 4, 2, 0}, {1, 4, 2, 0, other ? 2 : 1}}, 2}));
  }
  // The first cuts samples otherwise than those behind it.
  static program chain() {
    through_shape of;
    for (std::int32_t k = 0; k < 3; ++k) {
      through_module made;
      made.ranks.push(k);
      made.microbatches = k == 0 ? 2 : 4;
      if (k > 0) made.from.push(k - 1);
      made.meets = k == 2;
      of.modules.push(made);
    }
    return compile(write_through(of));
  }
  static process_options options_for(const mpi::session& here, double bound, std::string_view how) {
    process_options out{.deadline = how == "late" ? bound : 600, .bound = bound};
    out.identity.add("model", how == "model" && here.rank() == 2 ? "another model" : model);
    return out;
  }
  static std::vector<std::vector<std::int32_t>> all_ranks() { return {{0, 1, 2}}; }
  template <class T>
  static std::byte* bytes(std::vector<T>& of) {
    return reinterpret_cast<std::byte*>(of.data());
  }

  static bool act(void* self, const instruction& it, std::int32_t i) {
    return static_cast<player*>(self)->play(it, i);
  }
  bool play(const instruction& it, std::int32_t i) {
    const std::int32_t tag = own_.sheet().tags[i];
    mpi::endpoint& end = own_.end(own_.rank());
    if (is_transfer(it.what)) {
      std::vector<float>& rows_there = messages_[tag];
      rows_there.resize(message_size, 1);
      if (is_send(it.what)) return end.send(tag, it.peer, bytes(rows_there), message_size * 4), true;
      return end.receive(tag, it.peer, bytes(rows_there), message_size * 4);
    }
    if (own_.sheet().graph.meetings[i] >= 0) return gather(tag);
    if (it.what == op::optimizer_step) {
      if (!gather(own_.updaters())) return false;
      const float sum = std::accumulate(met_.begin(), met_.end(), 0.0f);  // 1 + 2 + 3
      if (how_ == "group" && own_.rank() == 1 && step_ == 7) std::raise(SIGSTOP);
      sums_.assign(message_size, sum);
      everyone_.all_reduce_sum(sums_.data(), message_size);
      for (float& each : weights_) each += sums_.back() / 3;
      return true;
    }
    const bool chosen = own_.rank() == 1 && step_ == 7 && it.microbatch == 2 && it.what == op::backward;
    if (chosen && how_ == "slow") std::this_thread::sleep_for(std::chrono::duration<double>(2 * bound_));
    if (chosen && how_ == "late") std::this_thread::sleep_for(std::chrono::duration<double>(3 * bound_));
    if (chosen && how_ == "refuse") fail(checkpoint_damaged, "rank 1 reads");
    if (chosen && how_ == "deadlock") return false;
    std::this_thread::sleep_for(std::chrono::microseconds(300));
    return true;
  }
  bool gather(std::int32_t meeting) {
    const std::int32_t members = own_.members(meeting);
    brought_.assign(1, static_cast<float>(1 + own_.rank()));
    met_.resize(static_cast<std::size_t>(members));
    return own_.end(own_.rank())
        .gather(meeting, own_.member(meeting, own_.rank()), bytes(brought_), 4, bytes(met_));
  }

  void save(const std::filesystem::path& folder) {
    const interval rows_here{own_.rank() * rows / 3, (own_.rank() + 1) * rows / 3};
    const std::vector<saved_slice> weights{
        {"weight", {rows, width}, {rows_here, {0, width}}, weights_.data()}};
    write_checkpoint_part(folder, {step_, model, own_.rank(), 3, weights, {}});
    own_.barrier();
    if (own_.rank() == 0)
      finish_checkpoint(folder, {.step = step_, .model = model, .parts = 3, .state = json(json::object{})});
    own_.barrier();
    own_.note_checkpoint((folder / ("step " + std::to_string(step_))).string());
  }
  void load(const std::filesystem::path& folder) {
    const checkpoint from(folder);
    const interval rows_here{own_.rank() * rows / 3, (own_.rank() + 1) * rows / 3};
    const std::vector<loaded_slice> weights{
        {"weight", {rows, width}, {rows_here, {0, width}}, weights_.data()}};
    from.load_slices(model, weights, {});
    step_ = from.step();
    own_.note_checkpoint(from.path().string());
    own_.barrier();  // nobody writes before all have read
  }

  std::vector<float> weights_ = std::vector<float>(mine);
  std::map<std::int32_t, std::vector<float>> messages_;
  std::vector<float> brought_, met_, sums_;
  std::int64_t step_ = 0;
  host own_;
  mpi::group_set set_;
  mpi::group group_;
  any_group everyone_;
  std::string_view how_;
  double bound_;
};

// Every checkpoint is whole, and says of each weight what it was after that step.
int verify(const std::filesystem::path& folder) {
  std::int64_t newest = -1;
  const auto look = [&](const std::filesystem::path& at) {
    const checkpoint from(at);
    std::vector<float> weights(3 * player::mine);
    from.load_weights(player::model,
                      std::vector<loaded_tensor>{{"weight", {player::rows, player::width}, weights.data()}});
    for (std::size_t i = 0; i < weights.size(); ++i)
      if (weights[i] != player::weight(static_cast<motet::isize>(i), from.step()))
        fail(checkpoint_damaged, at.string() + ", weight " + std::to_string(i));
    newest = std::max(newest, from.step());
    return from.step();
  };
  for (const auto& each : std::filesystem::directory_iterator(folder))
    if (each.path().filename().string().starts_with("step-")) look(each.path());
  const auto latest = latest_checkpoint(folder);
  std::printf("whole, step %lld of %lld\n", static_cast<long long>(latest ? look(*latest) : 0),
              static_cast<long long>(std::max<std::int64_t>(newest, 0)));
  return 0;
}

}  // namespace

int main(int count, char** words) {
  const std::string_view how = count > 1 ? words[1] : "";
  const auto status_of = [](const std::exception& problem) { return exit_code_of(problem).status; };
  try {
    if (how == "verify" && count == 3) return verify(words[2]);
    const launched as = find_launch(read_environment(), {.processes = how != "alone"});
    if (as.rank == 0) std::printf("%s\n", describe(as).c_str());
    if (how == "run" && count >= 5) {
      const double bound = std::atof(words[4]);
      return mpi::run(
          {.rank = as.rank, .ranks = as.ranks, .patience = bound / 5},
          [&](mpi::session& here) {
            return player(here, bound, count > 5 ? words[5] : "").run(words[2], std::atoll(words[3]));
          },
          status_of);
    }
    return mpi::run(
        {.rank = as.rank, .ranks = as.ranks, .patience = 2},
        [&](mpi::session& here) { return train(here, how); }, status_of);
  } catch (const error& problem) {
    std::fprintf(stderr, "%s\n", problem.what());
    return status_of(problem);
  }
}
