// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/cuda/device.hpp>
#include <motet/format/text/json_write.hpp>
#include <motet/meta/mixed_bits.hpp>
#include <motet/tools/process/options.hpp>

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <string>
#include <string_view>
#include <vector>

// Times by events of the GPU, medians of many turns, over inputs that do not fit into its cache and are
// random: equal numbers draw less power.
namespace motet::bench {

// The command line of a bench, which declares what else it knows. `--smoke`: tiny shapes and few turns, to
// see that a program works; its numbers mean nothing.
struct settings : options {
  bool smoke = false, paced = false;
  isize turns_asked = 0;
  std::string only;

  settings(std::string program, std::string about) : options(std::move(program), std::move(about)) {
    flag("--smoke", smoke, "tiny shapes and few turns, to see that it works; its numbers mean nothing");
  }
  // Options hold addresses.
  settings(const settings&) = delete;
  settings& operator=(const settings&) = delete;

  void offer_turns() {
    count("--turns", turns_asked, 0,
          "how often each is timed, of which the median counts; 0: as often as is usual");
  }
  // A bench that measures several things by name, and asks wants() of each.
  void offer_names() { text("--only", only, "NAME", "measure those alone whose names contain this"); }
  bool wants(std::string_view name) const {
    const bool wanted = name.find(only) != std::string_view::npos;
    chosen_ = chosen_ || wanted;
    return wanted;
  }

  // bench/peers/alternate.py tells every program these; there is one of each here.
  void offer_pace() {
    flag("--paced", paced, "a step for each line of standard input, for bench/peers/alternate.py");
    choice("--data", data_, {"random"}, "the one kind of inputs");
    choice("--precision", precision_, {"bf16"}, "the one precision");
    choice("--device", device_, {"cuda"}, "the one kind of device");
    count("--threads", threads_, 1, "of the host, of which it takes one");
  }

  isize size(isize usual, isize small) const { return smoke ? small : usual; }
  int turns(int usual) const { return turns_asked > 0 ? static_cast<int>(turns_asked) : smoke ? 2 : usual; }

  // A program's main() returns this: the status of body(), or 2 where the command line is not understood, or
  // nothing has the name that was asked for.
  template <class Body>
  int run(int words, const char* const* all, Body&& body) {
    try {
      if (!parse(words, all)) {
        std::printf("%s", help().c_str());
        return 0;
      }
      const int status = body();
      if (status == 0 && !only.empty() && !chosen_)
        fail(bad_option_value, "--only " + only + ": nothing that is measured here is called so");
      return status;
    } catch (const error& problem) {
      std::fprintf(stderr, "%s\n", problem.what());
      return 2;
    }
  }

 private:
  mutable bool chosen_ = false;
  std::string data_ = "random", precision_ = "bf16", device_ = "cuda";
  isize threads_ = 1;
};

// A line of JSON, and a line for people, of which bench/gpu.sh makes its table.
inline void line(const char* format, ...) {
  std::va_list values;
  va_start(values, format);
  std::vprintf(format, values);
  va_end(values);
  std::putchar('\n');
  std::fflush(stdout);
}
inline void tell(const char* format, ...) {
  char text[256];
  std::va_list values;
  va_start(values, format);
  std::vsnprintf(text, sizeof text, format, values);
  va_end(values);
  line("{\"short\": %s}", write_json(json(text)).c_str());
}

template <class T>
struct fill_randomly {
  T* to;
  isize count;
  unsigned seed;
  float scale;
  template <class Thread>
  MOTET_HOST_DEVICE void operator()(Thread& self) const {
    for (isize i = self.number(); i < count; i += self.all()) {
      const std::uint64_t x = mixed_bits(static_cast<std::uint64_t>(i) * golden_step + seed);
      to[i] = T(scale * (static_cast<float>(x >> 40) / 8388608.0f - 1.0f));
    }
  }
};

// A buffer of random numbers, several times over, so that runs take other memory each time.
template <class T>
class rotating {
 public:
  rotating(cuda::device& on, isize count, float scale = 1, isize least_bytes = 256 << 20)
      : count_((count + 15) / 16 * 16) {
    const isize bytes = count_ * static_cast<isize>(sizeof(T));
    copies_ = std::clamp<isize>((least_bytes + bytes - 1) / bytes, 1, 32);
    memory_ = on.take<T>("numbers of a benchmark", copies_ * count_);
    on.run([&](cuda::context& ctx) {
      if (!ctx.measuring())
        cuda::launch(ctx.stream(), {cuda::blocks_for(copies_ * count_, 1024), 256, 0},
                     fill_randomly<T>{memory_.data(), copies_ * count_, 7, scale});
    });
    on.finish();
  }
  T* operator[](isize turn) const { return memory_.data() + turn % copies_ * count_; }

 private:
  isize count_, copies_ = 1;
  cuda::buffer<T> memory_;
};

inline double median(std::vector<double> of) {
  if (of.empty()) return 0;
  std::sort(of.begin(), of.end());
  return (of[of.size() / 2] + of[(of.size() - 1) / 2]) / 2;
}

// Two events around what is given to a stream.
class stop_watch {
 public:
  stop_watch() {
    cuda::check(cudaEventCreate(&from_), "cudaEventCreate");
    cuda::check(cudaEventCreate(&to_), "cudaEventCreate");
  }
  stop_watch(const stop_watch&) = delete;
  stop_watch& operator=(const stop_watch&) = delete;
  ~stop_watch() {
    cudaEventDestroy(from_);
    cudaEventDestroy(to_);
  }
  void start(cudaStream_t stream) { cuda::check(cudaEventRecord(from_, stream), "cudaEventRecord"); }
  void stop(cudaStream_t stream) { cuda::check(cudaEventRecord(to_, stream), "cudaEventRecord"); }
  // Waits for the end.
  double seconds() {
    cuda::check(cudaEventSynchronize(to_), "cudaEventSynchronize");
    float milliseconds = 0;
    cuda::check(cudaEventElapsedTime(&milliseconds, from_, to_), "cudaEventElapsedTime");
    return 1e-3 * static_cast<double>(milliseconds);
  }

 private:
  cudaEvent_t from_ = nullptr, to_ = nullptr;
};

// Something to time: run(ctx, turn) gives work to the stream of `on`. Each turn takes other memory.
struct contender {
  cuda::device* on = nullptr;
  std::function<void(cuda::context&, isize)> run;
};
struct timed {
  std::vector<double> seconds;  // of each contender: the median over turns
  // of each contender: the median of (seconds of this one / seconds of the first one) in the same turn
  std::vector<double> ratios;
};

// Contenders take turns, as clocks swing: each turn is one batch of runs of each, back to back, so that the
// host is ahead and no launch is waited for. A batch takes about `batch` seconds. Memory is planned and taken
// before; the first turns warm up and are not counted.
inline timed compare(const std::vector<contender>& all, int turns, double batch = 2e-3) {
  std::vector<int> runs(all.size(), 1);
  std::vector<isize> next(all.size(), 0);
  stop_watch watch;
  const auto one = [&](std::size_t c) {
    double took = 0;
    all[c].on->run([&](cuda::context& ctx) {
      // The GPU idles for the first launch only; a batch hides it.
      watch.start(ctx.stream());
      for (int k = 0; k < runs[c]; ++k) all[c].run(ctx, next[c]++);
      watch.stop(ctx.stream());
      took = watch.seconds();
    });
    return took / runs[c];
  };
  for (std::size_t c = 0; c < all.size(); ++c) {
    all[c].on->prepare(all[c].on->dry_run([&](cuda::context& ctx) { all[c].run(ctx, 0); }));
    // Another contender of the same device may plan more, which keeps this one's room.
    for (int k = 0; k < 2; ++k) {
      const double took = one(c);
      if (k == 1) runs[c] = static_cast<int>(std::clamp(batch / std::max(took, 1e-7), 1.0, 200.0));
    }
  }
  timed found;
  std::vector<std::vector<double>> seconds(all.size()), ratios(all.size());
  for (int turn = 0; turn < turns; ++turn) {
    std::vector<double> now(all.size(), 0);
    // Contenders take turns in coming first, too.
    for (std::size_t k = 0; k < all.size(); ++k) {
      const std::size_t c = (k + static_cast<std::size_t>(turn)) % all.size();
      now[c] = one(c);
    }
    for (std::size_t c = 0; c < all.size(); ++c) {
      seconds[c].push_back(now[c]);
      ratios[c].push_back(now[c] / now[0]);
    }
  }
  for (std::size_t c = 0; c < all.size(); ++c) {
    found.seconds.push_back(median(seconds[c]));
    found.ratios.push_back(median(ratios[c]));
  }
  return found;
}

// Seconds of one run(ctx, turn) by itself.
inline double seconds(cuda::device& on, std::function<void(cuda::context&, isize)> run, int turns = 30) {
  return compare({{&on, std::move(run)}}, turns).seconds[0];
}

// A copy within the GPU, which reads and writes each byte once.
struct copied_bytes {
  isize count;
  cuda::buffer<std::byte> a, b;
  explicit copied_bytes(cuda::device& on, isize bytes = isize{1} << 28)
      : count(bytes),
        a(on.take<std::byte>("what is copied", bytes)),
        b(on.take<std::byte>("the copy", bytes)) {
    cuda::check(cudaMemset(a.data(), 0x5a, static_cast<std::size_t>(count)), "cudaMemset");
  }
  contender on(cuda::device& device) const {
    return {&device, [this](cuda::context& ctx, isize turn) {
              // Turns copy back and forth.
              cuda::copy(ctx, turn % 2 == 0 ? a.data() : b.data(), turn % 2 == 0 ? b.data() : a.data(),
                         count);
            }};
  }
};
// Bytes per second, read and written.
inline double copy_rate(cuda::device& on, int turns = 10, isize bytes = isize{1} << 28) {
  const copied_bytes what(on, bytes);
  return 2.0 * static_cast<double>(bytes) / compare({what.on(on)}, turns).seconds[0];
}

// Tells which way the operations of all devices took: {"paths": [...]}, and for people the first five that
// were not the best one.
inline void tell_paths(cuda::device& on) {
  std::vector<cuda::taken_path> all = cuda::taken_paths::of_ended_engines();
  for (const cuda::taken_path& each : on.paths()) cuda::add_path(all, each);
  json::array rows;
  for (const cuda::taken_path& each : all)
    rows.push_back({{"where", each.where},
                    {"operation", each.operation},
                    {"way", each.way},
                    {"why", each.why},
                    {"count", each.count}});
  line("%s", write_json({{"paths", std::move(rows)}}).c_str());
  int told = 0;
  for (const cuda::taken_path& each : all)
    if (!each.why.empty() && told++ < 5) tell("%s", each.sentence().c_str());
}

// One step() for each line of standard input, whose seconds it prints: for a runner that alternates two
// programs. The median.
template <class Step>
double pace(Step&& step) {
  line("ready");
  std::vector<double> times;
  for (std::string asked; std::getline(std::cin, asked);) {
    times.push_back(step());
    line("%.9f", times.back());
  }
  return median(times);
}

// As a program of benchmarks ends where there is no GPU: with the message and status 77.
template <class Body>
int on_gpu(Body&& body) {
  try {
    cuda::require_gpus();
    cuda::device on;
    line("{\"gpu\": \"%s\"}", on.describe().c_str());
    body(on);
    tell_paths(on);
    return 0;
  } catch (const error& problem) {
    std::fprintf(stderr, "%s\n", problem.what());
    return std::string_view(problem.code()) == no_gpu.code ? 77 : 1;
  }
}

}  // namespace motet::bench
