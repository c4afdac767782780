// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/cuda/device.hpp>
#include <motet/backend/transport/shared_gpu/shared_gpu_group.hpp>
#include <motet/front/trainer.hpp>
#include <motet/runtime/train/device_trainer.hpp>
#if defined(MOTET_HAS_NCCL) && MOTET_HAS_NCCL
#include <motet/backend/transport/nccl/nccl_group.hpp>
#include <motet/runtime/ranks/rendezvous_of.hpp>
#endif

#include <cstdio>

namespace motet {

namespace detail {

// One rank that has a GPU for itself, and follows no plan: a step is one recorded graph and one update, which
// decides by itself, and the next batch comes meanwhile.
template <class Model, class Numbers>
class lone_gpu final : public ranks_here<Numbers, cuda::device> {
 public:
  using base = ranks_here<Numbers, cuda::device>;
  using typename base::master;
  using batch = typename Model::batch;

  lone_gpu(const score& order, const trainer_options& how)
      : base(table_of_model<Model, cuda::context, Numbers>, 1),
        program_(program_for(*this->model().of, order, true)),
        ahead_(how.ahead),
        trained_(this->device(),
                 {how.batch, how.parts, how.seed, how.optimizer, how.clamp_scale, how.ahead}) {
    this->device().set_fp8(how.fp8);
  }
  const program& of() const override { return program_; }
  std::vector<rank_memory> memory() override {
    const training_plan plan = trained_.plan();
    rank_memory own;
    own.stages.weights = plan.weights;
    own.stages.gradients = plan.gradients;
    own.stages.optimizer = plan.optimizer;
    own.inputs = plan.inputs;
    own.work = plan.arena;
    own.scratch = plan.scratch;
    return {own};
  }
  void prepare() override { trained_.prepare(); }
  void expect(std::span<const void* const> next) override {
    if (ahead_) trained_.expect(batch_of(next, all{}));
  }
  step_result step(std::span<const void* const> inputs, double rate, timeline* record) override {
    if (record != nullptr)
      fail(bad_training_option, "a record of a GPU without a plan; take a plan of one rank");
    return trained_.step(batch_of(inputs, all{}), rate);
  }
  index updates() const override { return trained_.updates(); }
  void gather() override {}
  void embed(std::size_t module, const void* input, master* out) override {
    embed_one(module, input, out, all{});
  }
  std::vector<master> weights() override {
    const trained_state now = trained_.state();
    return {now.weights, now.weights + now.size};
  }
  flat_state<master> state() override {
    const trained_state now = trained_.state();
    return {{now.weights, now.weights + now.size},
            {now.first, now.first + now.trainable},
            {now.second, now.second + now.trainable},
            now.updates};
  }
  void set_state(const flat_state<master>& from) override {
    flat_state<master> own = from;
    trained_.set_state(own.view(trained_.parameters()));
  }
  std::filesystem::path save(const std::filesystem::path& run, const std::string& name, json state,
                             json description, std::size_t keep) override {
    return motet::save(trained_.state(), run, name, std::move(state), std::move(description), keep);
  }
  void load(const checkpoint& from, const std::string& name) override {
    trained_state own = trained_.state();
    own.updates = motet::load(own, from, name);
    trained_.set_state(own);
  }
  step_costs costs() override { return this->device().costs(); }
  void clear_costs() override { this->device().clear_costs(); }

 private:
  using all = std::make_index_sequence<Model::size>;
  template <std::size_t I>
  using net = typename Model::template module_at<I>::net;

  template <std::size_t... I>
  static batch batch_of(std::span<const void* const> inputs, std::index_sequence<I...>) {
    return batch(*static_cast<const typename net<I>::input*>(inputs[I])...);
  }
  template <std::size_t... I>
  void embed_one(std::size_t module, const void* input, master* out, std::index_sequence<I...>) {
    ((module == I ? embed_all<I>(*static_cast<const typename net<I>::input*>(input), out) : void()), ...);
  }
  // As many at once as there is room for.
  template <std::size_t I>
  void embed_all(const typename net<I>::input& input, master* out) {
    const index samples = input_traits<net<I>>::samples(input), most = trained_.part_samples();
    if (samples == 0) return;
    replica_microbatches<net<I>> parts(samples, 1, (samples + most - 1) / most);
    parts.cut(input);
    for (index m = 0; m < parts.count(); ++m)
      trained_.template embed<I>(parts[m], out + parts.of(m).begin * Model::embedding);
  }

  program program_;
  bool ahead_;
  device_trainer<Model, cuda::device, Numbers> trained_;
};

#if defined(MOTET_HAS_NCCL) && MOTET_HAS_NCCL
// By MPI where it runs, else by TCP.
inline meeting_place place_of(const launched& by) {
#if defined(MOTET_HAS_MPI) && MOTET_HAS_MPI
  int begun = 0;
  MPI_Initialized(&begun);
  if (begun != 0) return mpi::place();
#endif
  return meeting_place(rendezvous_of(by, read_environment()));
}
struct nccl_meeting {
  launched by = find_launch(read_environment());
  nccl::session session{place_of(by), {.local_rank = by.local_rank, .patience = {}}};
};
// The rank of this process, with a GPU of its own. The ranks meet first.
class nccl_rank : nccl_meeting, public process_rank<nccl::world, nccl::endpoint> {
 public:
  using process_rank::process_rank;
};
#endif

}  // namespace detail

// On GPUs: one rank that has one, ranks that are threads of this process and share one, or one in each of
// many processes with a GPU each, which talk by NCCL.
template <>
struct ranks_on<cuda::device> {
  template <class Model, class Numbers>
  static std::unique_ptr<ranks_here<Numbers, cuda::device>> make(const launched_world& world,
                                                                 const score& order, pipeline_config config,
                                                                 const run_identity& same,
                                                                 const trainer_options& how, bool lone) {
    if (how.fp8 && !lone)
      fail(bad_training_option,
           "fp8 with a plan, whose ranks multiply in fp32 or bf16; leave one of them out");
    const auto& model = table_of_model<Model, cuda::context, Numbers>;
    if (world.is_one_of_many()) {
#if defined(MOTET_HAS_NCCL) && MOTET_HAS_NCCL
      return std::make_unique<hosted_ranks<Numbers, cuda::device, detail::nccl_rank>>(
          model, order, std::move(config), 1, same);
#else
      fail(
          gpu_library_missing,
          "NCCL, which carries messages between processes with a GPU each; without it ranks are threads that "
          "share one (--ranks)");
#endif
    }
    if (lone) return std::make_unique<detail::lone_gpu<Model, Numbers>>(order, how);
    if (const std::string advice = cuda::advise_connections(2 * order.ranks()); !advice.empty())
      std::fprintf(stderr, "%s\n", advice.c_str());
    using host = thread_ranks<shared_gpu::world, shared_gpu::endpoint>;
    auto made =
        std::make_unique<hosted_ranks<Numbers, cuda::device, host>>(model, order, std::move(config), 1, same);
    made->host().world().share(how.processors);
    return made;
  }
};

}  // namespace motet
