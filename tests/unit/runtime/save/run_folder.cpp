// SPDX-License-Identifier: Apache-2.0
#include <motet/runtime/save/run_folder.hpp>

#include <unit/format/scratch.hpp>

#include <doctest/doctest.h>

#include <csignal>
#include <cstdint>
#include <fstream>

#include <sys/wait.h>
#include <unistd.h>

using namespace motet;

namespace {
template <class Do>
std::string failure(Do&& act) {
  try {
    act();
  } catch (const error& problem) {
    return problem.what();
  }
  return {};
}
bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }
}  // namespace

TEST_CASE("a probe leaves nothing, neither in a folder that is there nor where one would be made") {
  const scratch folder;
  CHECK(failure([&] { probe_run_folder(folder.path(), 1000); }).empty());
  CHECK(failure([&] { probe_run_folder(folder / "runs/first/", 1000); }).empty());
  CHECK(folder.names().empty());
}

TEST_CASE("what is in the way of checkpoints is told by its name") {
  const scratch folder;
  std::ofstream(folder / "file") << "here";
  std::filesystem::create_symlink("nowhere", folder / "link");
  CHECK(has(failure([&] { probe_run_folder(folder / "file", 1000); }), "MT-F05"));
  CHECK(has(failure([&] { probe_run_folder(folder / "file/below", 1000); }), (folder / "file").string()));
  CHECK(has(failure([&] { probe_run_folder(folder / "link/below", 1000); }), (folder / "link").string()));
  if (::geteuid() != 0) {
    std::filesystem::create_directory(folder / "locked");
    std::filesystem::permissions(folder / "locked", std::filesystem::perms::owner_read);
    CHECK(has(failure([&] { probe_run_folder(folder / "locked/run", 1000); }), "MT-F05"));
  }
  // No disk has eight exbibytes.
  const std::string full = failure([&] { probe_run_folder(folder / "run", INT64_MAX); });
  CHECK(has(full, (folder / "run").string() + ": a checkpoint takes 9223372036854775807 bytes, and "));
  CHECK(has(full, "MT-F06"));
  CHECK(!std::filesystem::exists(folder / "run"));
}

TEST_CASE("the forecast of a checkpoint counts weights and both moments") {
  parameter one;
  one.rows = 30, one.width = 10;
  const motet::isize bytes = checkpoint_bytes(std::span(&one, 1));
  CHECK(bytes >= 3 * 4 * one.size());
  CHECK(bytes <= 3 * 4 * one.size() + 8192);
}

TEST_CASE("two cannot hold one folder, and the second is told who has it") {
  const scratch folder;
  const std::filesystem::path run = folder / "run";
  {
    const run_folder held(run);
    const std::string told = failure([&] { run_folder second(run); });
    CHECK(has(told, sentence({run.string(), " is held by process ", ::getpid(), " on "})));
    CHECK(has(told, "MT-R14"));
    CHECK(failure([&] { run_folder other(folder / "other"); }).empty());
  }
  CHECK(failure([&] { run_folder next(run); }).empty());
}

TEST_CASE("a folder whose holder was killed is free, and what it left half done is gone") {
  const scratch folder;
  const std::filesystem::path run = folder / "run";
  const pid_t child = ::fork();
  if (child == 0) {
    const run_folder held(run);
    std::filesystem::create_directories(run / ".step-000007.tmp-parts");
    std::ofstream(run / ".tokenizer.json.tmp-1-2") << "half";
    std::ofstream(run / ".notes") << "whole";
    ::raise(SIGKILL);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  CHECK(folder.names("run").size() == 4);
  const run_folder held(run);
  CHECK(folder.names("run") == std::set<std::string>{".lock", ".notes"});
}

TEST_CASE("a folder that was removed or renamed is made again and held again") {
  const scratch folder;
  const std::filesystem::path run = folder / "run";
  run_folder held(run);
  std::filesystem::remove_all(run);
  held.hold();
  CHECK(has(failure([&] { run_folder second(run); }), "MT-R14"));
  std::filesystem::rename(run, folder / "aside");
  held.hold();
  CHECK(has(failure([&] { run_folder second(run); }), "MT-R14"));
  CHECK(failure([&] { run_folder second(folder / "aside"); }).empty());
}
