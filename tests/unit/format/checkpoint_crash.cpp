// SPDX-License-Identifier: Apache-2.0

// Dies at every call that changes the disk, one after the other, while several ranks write a checkpoint.
// These definitions stand before the C library's.
#include <motet/format/checkpoint/checkpoint_write.hpp>

#include <sys/syscall.h>
#include <sys/wait.h>

#include <map>

namespace {

int calls_left = -1;           // until this process dies; negative: it lives
std::map<int, bool> unsynced;  // files that were written to since their last sync
bool careless = false;         // whether one of them was renamed into place or closed

bool dies() {
  if (calls_left > 0) --calls_left;
  return calls_left == 0;
}
template <class... Words>
long call(long number, Words... words) {
  if (dies()) ::_exit(9);
  return ::syscall(number, words...);
}
void note_rename() {
  for (const auto& [file, wrote] : unsynced) careless = careless || wrote;
}

}  // namespace

extern "C" {
ssize_t write(int file, const void* from, size_t size) {
  unsynced[file] = file > 2;
  // Half of it is on the disk.
  if (calls_left == 1) ::syscall(SYS_write, file, from, size / 2);
  return call(SYS_write, file, from, size);
}
ssize_t pwrite(int file, const void* from, size_t size, off_t at) {
  unsynced[file] = true;
  if (calls_left == 1) ::syscall(SYS_pwrite64, file, from, size / 2, at);
  return call(SYS_pwrite64, file, from, size, at);
}
ssize_t pwrite64(int file, const void* from, size_t size, off_t at) { return pwrite(file, from, size, at); }
// The bytes that a process has written outlive it, so nothing needs to reach the disk itself here.
int fsync(int file) {
  unsynced[file] = false;
  if (dies()) ::_exit(9);
  return 0;
}
int rename(const char* from, const char* to) noexcept {
  note_rename();
  return static_cast<int>(call(SYS_rename, from, to));
}
int renameat2(int, const char* from, int, const char* to, unsigned how) noexcept {
  note_rename();
  return static_cast<int>(call(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, how));
}
int mkdir(const char* path, mode_t mode) noexcept { return static_cast<int>(call(SYS_mkdir, path, mode)); }
int unlink(const char* path) noexcept { return static_cast<int>(call(SYS_unlink, path)); }
int unlinkat(int folder, const char* path, int how) noexcept {
  return static_cast<int>(call(SYS_unlinkat, folder, path, how));
}
}

#include <doctest/doctest.h>

#include "unit/format/random_parts.hpp"
#include "unit/format/scratch.hpp"

namespace {

constexpr motet::isize parts = 3;

struct net {
  std::vector<whole_tensor> weights, moments;
  std::vector<held_slices<const float>> own, own_moments;
  explicit net(std::uint64_t seed) {
    drawn from(7);  // shapes are those of the model
    weights = random_tensors(from, 2), moments = random_tensors(from, 1, ".m");
    drawn numbers(seed);
    for (auto& each : weights) each.first = static_cast<float>(seed * 100'000);
    for (auto& each : moments) each.first = static_cast<float>(seed * 100'000);
    own = cut_between(numbers, weights, parts);
    own_moments = cut_between(numbers, moments, parts);
  }
  void save(const std::filesystem::path& run, std::int64_t step) const {
    for (motet::isize part = 0; part < parts; ++part) {
      const auto at = static_cast<std::size_t>(part);
      motet::write_checkpoint_part(run, {step, "net", part, parts, own[at].slices, own_moments[at].slices});
    }
    motet::finish_checkpoint(run, {step, "net", parts, {}}, 1);
  }
  // One program alone saves all.
  void save_whole(const std::filesystem::path& run, std::int64_t step) const {
    std::deque<std::vector<float>> memory;
    std::vector<motet::saved_tensor> tensors[2];
    for (const auto* list : {&weights, &moments}) {
      for (const whole_tensor& each : *list) {
        auto& numbers = memory.emplace_back();
        for (motet::isize i = 0; i < each.all().size(); ++i)
          numbers.push_back(each.first + static_cast<float>(i));
        tensors[list == &moments ? 1 : 0].push_back({each.name, each.shape, numbers.data()});
      }
    }
    motet::save_checkpoint(run, {step, "net", {}, tensors[0], tensors[1]}, 1);
  }
  motet::isize wrong(const motet::checkpoint& saved) const {
    motet::isize sum = 0;
    for (const auto* list : {&weights, &moments}) {
      held_slices<float> all;
      for (const whole_tensor& each : *list) {
        auto& memory = all.memory.emplace_back(static_cast<std::size_t>(each.all().size()), -1.0f);
        all.slices.push_back(motet::whole_slice(each.name, each.shape, memory.data()));
      }
      const bool of_moments = list == &moments;
      saved.load_slices("net", of_moments ? std::span<const motet::loaded_slice>() : all.slices,
                        of_moments ? std::span<const motet::loaded_slice>(all.slices)
                                   : std::span<const motet::loaded_slice>());
      sum += wrong_elements(*list, all);
    }
    return sum;
  }
};

// The exit status of the other process is 9 when it died on the way, 0 when it was done.
template <class Work>
int in_another_process(int dies_at, Work&& work) {
  const pid_t child = ::fork();
  if (child == 0) {
    calls_left = dies_at;
    try {
      work();
    } catch (...) {
      ::_exit(3);
    }
    ::_exit(careless ? 4 : 0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

// Dies at each call in turn while `second` is written over a run that holds `first`; after each death one of
// them is there, whole, and the run goes on.
template <class Save>
void dies_everywhere(std::int64_t second_step, Save&& save) {
  const net first(1), second(2), third(3);
  int deaths = 0, kept = 0;
  for (int at = 1;; ++at) {
    CAPTURE(at);
    const scratch folder;
    first.save(folder.path(), 10);
    const int status = in_another_process(at, [&] { save(second, folder.path(), second_step); });
    REQUIRE((status == 9 || status == 0));
    {
      const motet::checkpoint found(folder.path());
      const bool old = first.wrong(found) == 0;
      kept += old ? 1 : 0;
      CHECK((old || second.wrong(found) == 0));
      CHECK(found.step() == (old ? 10 : second_step));
      if (status == 0) CHECK_FALSE(old);
    }
    third.save(folder.path(), 30);
    CHECK(third.wrong(motet::checkpoint(folder.path())) == 0);
    CHECK(folder.names() == std::set<std::string>{"latest", "step-000030"});
    if (status == 0) break;
    ++deaths;
  }
  CHECK(deaths > 15);
  CHECK(kept > deaths / 2);
  CHECK(kept < deaths);
}

}  // namespace

TEST_CASE("a rank that dies anywhere leaves the checkpoint before or the new one") {
  dies_everywhere(
      20, [](const net& what, const std::filesystem::path& run, std::int64_t step) { what.save(run, step); });
}
TEST_CASE("the same while a step is written again") {
  dies_everywhere(
      10, [](const net& what, const std::filesystem::path& run, std::int64_t step) { what.save(run, step); });
}
TEST_CASE("the same for one program alone") {
  dies_everywhere(20, [](const net& what, const std::filesystem::path& run, std::int64_t step) {
    what.save_whole(run, step);
  });
}
