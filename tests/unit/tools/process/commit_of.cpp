// SPDX-License-Identifier: Apache-2.0
#include <motet/tools/process/commit_of.hpp>

#include <motet/format/files/atomic_file.hpp>

#include <unit/format/scratch.hpp>

#include <doctest/doctest.h>

using namespace motet;

namespace {

const std::string one(40, 'a'), two(40, 'b'), three = std::string(39, '0') + "c";

void put(const std::filesystem::path& path, const std::string& text) {
  std::filesystem::create_directories(path.parent_path());
  write_file(path, text);
}

}  // namespace

TEST_CASE("a branch, a packed branch, a bare commit and a worktree") {
  const scratch folder;
  const std::filesystem::path tree = folder / "tree", deep = tree / "a" / "b";
  std::filesystem::create_directories(deep);
  put(tree / ".git" / "HEAD", "ref: refs/heads/main\n");
  put(tree / ".git" / "packed-refs",
      "# pack-refs with: peeled\n" + one + " refs/heads/main2\n" + two + " refs/heads/main\n^" + one + "\n");
  CHECK(commit_of(deep) == two);
  put(tree / ".git" / "refs" / "heads" / "main", one + "\n");
  CHECK(commit_of(deep) == one);
  CHECK(commit_of(tree) == one);
  put(tree / ".git" / "worktrees" / "w" / "HEAD", "ref: refs/heads/other\n");
  put(tree / ".git" / "worktrees" / "w" / "commondir", "../..\n");
  put(tree / ".git" / "refs" / "heads" / "other", three + "\n");
  put(folder / "beside" / ".git", "gitdir: ../tree/.git/worktrees/w\n");
  CHECK(commit_of(folder / "beside") == three);
  put(tree / ".git" / "HEAD", two + "\n");
  CHECK(commit_of(deep) == two);
}

TEST_CASE("what is no commit is none") {
  const scratch folder;
  const std::filesystem::path tree = folder / "tree";
  for (const char* head : {"", "ref: refs/heads/none\n", "nonsense\n", "ref: HEAD\n"}) {
    CAPTURE(head);
    put(tree / ".git" / "HEAD", head);
    CHECK(commit_of(tree).empty());
  }
  put(folder / "beside" / ".git", "no path\n");
  CHECK(commit_of(folder / "beside").empty());
  CHECK(commit_of("/").empty());
}

TEST_CASE("a run tells its library's version, with or without a repository") {
  const std::string text = version_of_run(), version = std::to_string(MOTET_VERSION_MAJOR) + ".";
  CHECK(text.starts_with(version));
  const std::string commit = commit_of(std::filesystem::current_path());
  CHECK(text.ends_with(commit.empty() ? std::to_string(MOTET_VERSION_PATCH) : commit));
}
