// SPDX-License-Identifier: Apache-2.0
#pragma once

// The benchmarks share this beside Google Benchmark: calls that take turns, and a main() with options of
// their own. The library's flags say what runs, how long, how often and where the numbers go;
// bench/compare.py reads two of its JSON files.
#include <motet/backend/cpu/device/kernel_choice.hpp>
#include <motet/tools/process/options.hpp>

#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <exception>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace bench {

inline double wall_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}
// Processor time of this thread alone, so that neighbours on the machine count less.
inline double thread_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

// A series has what one of several calls took in each iteration. The calls of an iteration follow each other
// at once, because the clock of a machine moves by more than the difference between them: what counts is the
// median of the ratios of neighbours.
class series {
 public:
  explicit series(double (*clock)() = wall_seconds) : clock_(clock) {}

  template <class Call>
  double take(Call&& call) {
    const double start = clock_();
    call();
    return add(clock_() - start);
  }
  double add(double value) {
    values_.push_back(value);
    return value;
  }
  double last() const { return values_.back(); }
  bool empty() const { return values_.empty(); }
  double least() const { return at(0); }
  double most() const { return at(1); }
  // With other programs on the machine most of the noise is in one direction: the faster quarter says what
  // the code takes.
  double quarter() const { return at(0.25); }
  double median() const { return at(0.5); }

  friend series operator/(const series& above, const series& below) {
    series out;
    for (std::size_t i = 0; i < std::min(above.values_.size(), below.values_.size()); ++i)
      out.add(above.values_[i] / below.values_[i]);
    return out;
  }

 private:
  // The value that so large a share lies below, between two neighbours where it falls between them.
  double at(double part) const {
    if (values_.empty()) return 0;
    std::vector<double> sorted = values_;
    std::ranges::sort(sorted);
    const double position = part * static_cast<double>(sorted.size() - 1);
    const auto below = static_cast<std::size_t>(position);
    const std::size_t above = std::min(below + 1, sorted.size() - 1);
    return sorted[below] + (position - static_cast<double>(below)) * (sorted[above] - sorted[below]);
  }

  double (*clock_)();
  std::vector<double> values_;
};

// The body says by SetIterationTime what each iteration takes.
template <class Body, class... Arguments>
benchmark::internal::Benchmark* add(const std::string& name, Body&& body, Arguments&&... arguments) {
  return benchmark::RegisterBenchmark(name.c_str(), std::forward<Body>(body),
                                      std::forward<Arguments>(arguments)...)
      ->UseManualTime();
}

// Of processes that measure together, one speaks.
struct silent final : benchmark::BenchmarkReporter {
  bool ReportContext(const Context& /*unused*/) override { return true; }
  void ReportRuns(const std::vector<Run>& /*unused*/) override {}
};

// The main() of a benchmark: reads the program's options, lets `declare` add the benchmarks that they ask
// for, and runs those that the flags ask for.
template <class Declare>
int run(int count, char** words, motet::options line, Declare&& declare, bool speaks = true) {
  std::vector<char*> given(words, words + count);
  for (const std::string_view word : given)
    if (word == "--help" && speaks)
      std::printf("%s\nand the flags of Google Benchmark:\n\n", line.help().c_str());
  if (!speaks)
    std::erase_if(given, [](std::string_view word) { return word.starts_with("--benchmark_out"); });
  int left = static_cast<int>(given.size());
  benchmark::Initialize(&left, given.data());
  try {
    if (!line.parse(left, given.data())) return 0;
    declare();
    benchmark::AddCustomContext("cpu", motet::cpu::describe_cpu());
    silent nobody;
    if (speaks) benchmark::RunSpecifiedBenchmarks();
    else benchmark::RunSpecifiedBenchmarks(&nobody);
    benchmark::Shutdown();
  } catch (const std::exception& problem) {
    std::fprintf(stderr, "%s\n", problem.what());
    return 2;
  }
  return 0;
}

}  // namespace bench
