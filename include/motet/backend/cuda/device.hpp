// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/core/step_forecast.hpp>
#include <motet/backend/cuda/device/recorder.hpp>
#include <motet/backend/cuda/operations.hpp>
#include <motet/backend/cuda/products/weight_copies.hpp>

#include <algorithm>
#include <functional>
#include <string>
#include <string_view>

namespace motet::cuda {

using motet::step_forecast;

// A GPU with the memory of a step, and one thread that gives it work. It is looked for when first needed: dry
// runs do without. Nothing is allocated between prepare() and the next prepare().
class device {
 public:
  using context = cuda::context;
  using step_forecast = cuda::step_forecast;
  using profile = cuda::profile;
  template <class T>
  using buffer = cuda::buffer<T>;
  static constexpr bool shares_memory = false;  // the host does not touch its memory
  static constexpr const char* peak_product = "8192 x 4096 x 4096";

  // The GPU of this number; -1: the current one.
  explicit device(int gpu = -1) : gpu_(gpu) {}
  // Somebody else, such as a rank, lends its engine of a GPU, and keeps it for as long as this lives.
  explicit device(std::function<engine&()> lent) : lent_(std::move(lent)) {}
  device(const device&) = delete;
  device& operator=(const device&) = delete;

  // Linear layers in fp8 where they would be in bf16 (fp8.hpp), from the next dry_run() and prepare() on,
  // which refuses a chip that has none.
  void set_fp8(bool wanted) { fp8_ = wanted; }
  bool fp8() const { return fp8_; }

  int threads() const { return 1; }
  engine& on() {
    if (engine_ == nullptr && lent_) engine_ = &lent_();
    if (engine_ == nullptr) {
      require_gpus();
      if (gpu_ >= 0) check(cudaSetDevice(gpu_), "cudaSetDevice");
      own_ = std::make_unique<engine>();
      engine_ = own_.get();
    }
    return *engine_;
  }
  void finish() { on().finish(); }

  template <class Function>
  step_forecast dry_run(Function&& function) const {
    step_forecast found;
    context ctx;
    ctx.costs = &found.costs;
    ctx.fp8 = fp8_;
    function(ctx);
    found.memory = ctx.memory.peak();
    found.scratch = ctx.scratch.peak();
    return found;
  }
  // FLOPs of one call, by the same dry run.
  template <class Function>
  double flops(Function&& function) const {
    return dry_run(std::forward<Function>(function)).costs.flops();
  }

  // Takes the memory of a step.
  void prepare(const step_forecast& needs) {
    context ctx;
    ctx.on = &on();
    ctx.fp8 = fp8_;
    require_fp8(ctx);
    const auto grow = [&](buffer<std::byte>& room, const char* what, isize bytes) {
      if (bytes <= room.size()) return;
      // Records hold addresses of what is given back.
      if (room.size() > 0) forget_recorded(ctx);
      room = {};
      room = take<std::byte>(what, bytes);
    };
    grow(memory_, "arena", needs.memory);
    grow(scratch_, "scratch", needs.scratch);
  }
  // Memory of the GPU for `what`, which the error names where there is too little.
  template <class T>
  buffer<T> take(const char* what, isize count) {
    on();
    try {
      return buffer<T>(count);
    } catch (const error& problem) {
      if (std::string_view(problem.code()) != gpu_memory_full.code) throw;
      std::size_t left = 0, all = 0;
      check(cudaMemGetInfo(&left, &all), "cudaMemGetInfo");
      fail(gpu_memory_full, sentence({what, " of ", count * static_cast<isize>(sizeof(T)), " bytes; ", left,
                                      " of ", all, " are free"}));
    }
  }

  // Memory that batches will lie in is read without a copy in between while the result lives, which ends
  // before that memory does.
  std::shared_ptr<void> pin(const void* at, std::size_t bytes) {
    on();
    return bytes == 0 ? nullptr : std::make_shared<pinned_memory>(at, bytes);
  }

  // Copies of these weights in the precision of products, where that is another one; refresh_weights() makes
  // them follow.
  template <class Value, class Master>
  isize weight_copy_bytes(isize count) const {
    context ctx;
    ctx.fp8 = fp8_;
    return cuda::weight_copy_bytes<Value, Master>(ctx, count);
  }
  template <class Value, class Master>
  void keep_weights(const Master* base, isize count) {
    context ctx;
    ctx.on = &on();
    ctx.fp8 = fp8_;
    cuda::keep_weights<Value>(ctx, base, count);
  }
  template <class Master>
  void drop_weights(const Master* base) {
    if constexpr (std::is_same_v<Master, float>)
      if (engine_) engine_->template part<weight_copies>().drop(base);
  }

  // Calls function(ctx), which gives the GPU work. It may still be under way afterwards.
  template <class Function>
  void run(Function&& function, const draw_key& draws = {}) {
    context ctx = context_for(draws);
    function(ctx);
  }
  // MOTET_CUDA_GRAPHS decides at first.
  bool graphs() { return records().wanted(); }
  void set_graphs(bool wanted) { records().want(wanted); }
  // This says why graphs were given up; it is empty where they were not.
  const std::string& not_recorded() { return records().not_recorded(); }
  std::size_t recorded() { return records().recorded(); }
  long replayed() { return records().replayed(); }

  // The work of dry runs by section; time is not told by section, as nobody waits between them.
  const profile& costs() const { return costs_; }
  void clear_costs() { costs_.clear(); }

  // The best rate of a large product, in FLOP/s: what utilisation is compared with. Takes about 50 ms.
  template <class Value>
  double measure_peak(isize rows = 8192, isize in = 4096, isize out = 4096) {
    buffer<Value> x = take<Value>("input of a product", rows * in),
                  y = take<Value>("output of a product", rows * out);
    buffer<float> w = take<float>("weights of a product", in * out);
    // Numbers as random as in training: a chip draws less power, and runs faster, on equal ones.
    draw(x, 1);
    draw(w, 2);
    keep_weights<Value>(w.data(), w.size());
    const sequences seq{rows, 1, nullptr};
    const auto product = [&](context& ctx) {
      linear_forward(ctx, seq, matrix<const Value>{x.data(), rows, in, in},
                     matrix<const float>{w.data(), out, in, in}, nullptr,
                     matrix<Value>{y.data(), rows, out, out});
    };
    prepare(dry_run(product));
    const double flops = 2.0 * static_cast<double>(rows) * static_cast<double>(in) * static_cast<double>(out);
    double best = 0, spent = 0;
    stop_watch watch;
    run([&](context& ctx) {
      refresh_weights(ctx);
      product(ctx);
      constexpr int times = 8;
      for (int i = 0; i < 3 || (spent < 0.05 && i < 1000); ++i) {
        watch.start(ctx.stream());
        for (int k = 0; k < times; ++k) product(ctx);
        const double seconds = watch.seconds(ctx.stream());
        spent += seconds;
        if (seconds > 0) best = std::max(best, times * flops / seconds);
      }
    });
    drop_weights(w.data());
    finish();
    costs_.clear();
    return best;
  }

  // Each operation took one of these ways so far, and says why.
  std::vector<taken_path> paths() const {
    engine* const own = in_use();
    return own != nullptr ? own->part<taken_paths>().list() : std::vector<taken_path>();
  }

  // "NVIDIA H200, sm_90, 132 multiprocessors, 139 GiB, driver 13.0, runtime 13.0, ...".
  std::string describe() const {
    int gpus = 0;
    if (cudaGetDeviceCount(&gpus) != cudaSuccess || gpus == 0) {
      cudaGetLastError();
      return "no GPU here, " + libraries() + products();
    }
    int gpu = gpu_;
    if (gpu < 0) check(cudaGetDevice(&gpu), "cudaGetDevice");
    cudaDeviceProp found{};
    check(cudaGetDeviceProperties(&found, gpu), "cudaGetDeviceProperties");
    int driver = 0, runtime = 0;
    check(cudaDriverGetVersion(&driver), "cudaDriverGetVersion");
    check(cudaRuntimeGetVersion(&runtime), "cudaRuntimeGetVersion");
    const auto version = [](int number) { return sentence({number / 1000, ".", number % 1000 / 10}); };
    return sentence({found.name, ", sm_", found.major, found.minor, ", ", found.multiProcessorCount,
                     " multiprocessors, ", found.totalGlobalMem >> 30, " GiB, driver ", version(driver),
                     ", runtime ", version(runtime), ", ", libraries(), products(), ways()});
  }

 private:
  const char* products() const { return fp8_ ? ", linear layers in fp8" : ""; }
  recorder& records() { return on().part<recorder>(); }

  class stop_watch {
   public:
    stop_watch() {
      check(cudaEventCreate(&from_), "cudaEventCreate");
      check(cudaEventCreate(&to_), "cudaEventCreate");
    }
    stop_watch(const stop_watch&) = delete;
    stop_watch& operator=(const stop_watch&) = delete;
    ~stop_watch() {
      cudaEventDestroy(from_);
      cudaEventDestroy(to_);
    }
    void start(cudaStream_t stream) { check(cudaEventRecord(from_, stream), "cudaEventRecord"); }
    double seconds(cudaStream_t stream) {
      check(cudaEventRecord(to_, stream), "cudaEventRecord");
      check(cudaEventSynchronize(to_), "cudaEventSynchronize");
      float milliseconds = 0;
      check(cudaEventElapsedTime(&milliseconds, from_, to_), "cudaEventElapsedTime");
      return 1e-3 * static_cast<double>(milliseconds);
    }

   private:
    cudaEvent_t from_ = nullptr, to_ = nullptr;
  };

  // Null: nothing was begun here yet.
  engine* in_use() const {
    int gpus = 0;
    if (engine_ != nullptr || !lent_) return engine_;
    return cudaGetDeviceCount(&gpus) == cudaSuccess && gpus > 0 ? &lent_() : nullptr;
  }
  // The ways that operations took are known once there was something to do.
  std::string ways() const {
    engine* const own = in_use();
    const std::string found = own != nullptr ? own->part<taken_paths>().summary() : "";
    return found.empty() ? "" : "; " + found;
  }
  // These libraries were built in.
  static std::string libraries() {
    [[maybe_unused]] const auto version = [](std::size_t number) {
      return sentence({number / 10000, ".", number / 100 % 100, ".", number % 100});
    };
    std::string text = "own products (no cuBLASLt)";
#if MOTET_CUBLASLT
    text = "cuBLASLt " + version(cublasLtGetVersion());
#endif
#if MOTET_CUDNN_ATTENTION
    return text + ", cuDNN " + version(cudnnGetVersion());
#else
    return text + ", own attention (no cuDNN)";
#endif
  }

  context context_for(const draw_key& draws) {
    engine& own = on();
    check(cudaSetDevice(own.gpu()), "cudaSetDevice");
    own.forget_copies();
    own.set_step(draws.step);
    context ctx;
    ctx.on = &own;
    // An arena without memory would measure; an empty one must refuse.
    ctx.memory = memory_.size() > 0 ? arena(memory_.data(), memory_.size()) : arena(&nothing_, 0);
    ctx.scratch = scratch_.size() > 0 ? arena(scratch_.data(), scratch_.size()) : arena(&nothing_, 0);
    ctx.costs = &costs_;
    ctx.draws = draws;
    ctx.fp8 = fp8_;
    return ctx;
  }

  template <class T>
  void draw(const buffer<T>& into, std::uint64_t seed) {
    constexpr isize pattern = 65537;  // a prime, so rows differ
    std::vector<T> some(as_size(pattern));
    const random_stream draws(seed, "peak");
    for (isize i = 0; i < pattern; ++i)
      some[as_size(i)] = T(static_cast<float>(draws.normal(static_cast<std::uint64_t>(i))));
    for (isize at = 0; at < into.size(); at += pattern) {
      const auto bytes = as_size(std::min(pattern, into.size() - at)) * sizeof(T);
      check(cudaMemcpy(into.data() + at, some.data(), bytes, cudaMemcpyHostToDevice), "cudaMemcpy");
    }
  }

  int gpu_ = -1;
  std::function<engine&()> lent_;
  bool fp8_ = false;
  std::unique_ptr<engine> own_;  // before all that lies on its GPU
  engine* engine_ = nullptr;     // in use; null: none was asked for yet
  buffer<std::byte> memory_, scratch_;
  profile costs_;
  std::byte nothing_{};
};

}  // namespace motet::cuda
