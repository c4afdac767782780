// SPDX-License-Identifier: Apache-2.0
#include <motet/backend/cuda/products/product_cache.hpp>

#include <doctest/doctest.h>

#include "../../../format/scratch.hpp"

#include <cstdlib>
#include <vector>

#include <sys/wait.h>
#include <unistd.h>

using motet::cuda::product_algorithm, motet::cuda::product_cache;

namespace {

constexpr product_algorithm one{1, 2, 3, 4, 5, 6, 7, 8}, other{9, 9, 9};

// Sets it for a while.
struct variable {
  variable(const char* name, const char* value) : name_(name) {
    if (const char* const was = std::getenv(name); was != nullptr) before_ = was, there_ = true;
    if (value != nullptr) ::setenv(name, value, 1);
    else ::unsetenv(name);
  }
  ~variable() {
    if (there_) ::setenv(name_, before_.c_str(), 1);
    else ::unsetenv(name_);
  }
  const char* name_;
  std::string before_;
  bool there_ = false;
};

std::vector<std::string> news() {
  auto found = motet::warnings::of_process().said();
  motet::warnings::of_process().forget();
  return found;
}

}  // namespace

TEST_CASE("the usual folder is what the environment says") {
  const variable home("HOME", "/somewhere"), cache("XDG_CACHE_HOME", nullptr), own("MOTET_CACHE", nullptr);
  CHECK(product_cache::usual_folder() == "/somewhere/.cache/motet");
  {
    const variable set("XDG_CACHE_HOME", "/cached");
    CHECK(product_cache::usual_folder() == "/cached/motet");
    const variable asked("MOTET_CACHE", "/mine/alone");
    CHECK(product_cache::usual_folder() == "/mine/alone");
  }
  const variable nowhere("MOTET_CACHE", "");
  CHECK(product_cache::usual_folder().empty());
  const variable unset("MOTET_CACHE", nullptr), relative("XDG_CACHE_HOME", "here"), homeless("HOME", nullptr);
  CHECK(product_cache::usual_folder().empty());
}

TEST_CASE("what is kept is there for the next program, on this machine alone") {
  const scratch folder;
  const variable quiet("MOTET_QUIET", "1");
  news();
  product_cache made(folder / "below" / "motet", "GPU, driver 1, library 2");
  CHECK(made.find("a") == nullptr);
  CHECK_FALSE(std::filesystem::exists(made.file()));
  made.keep("a", one);
  made.keep("b", one);
  made.keep("a", other);
  CHECK(*made.find("a") == other);
  const product_cache again(folder / "below" / "motet", "GPU, driver 1, library 2");
  CHECK(again.file() == made.file());
  REQUIRE(again.find("a") != nullptr);
  CHECK(*again.find("a") == other);
  CHECK(*again.find("b") == one);
  const product_cache newer(folder / "below" / "motet", "GPU, driver 1, library 3");
  CHECK(newer.file() != made.file());
  CHECK(newer.find("a") == nullptr);
  product_cache nowhere({}, "GPU");
  nowhere.keep("a", one);
  CHECK(*nowhere.find("a") == one);
  CHECK(nowhere.file().empty());
  CHECK(news().empty());
}

TEST_CASE("a broken file is ignored as a whole, said once with its line, and written anew") {
  const scratch folder;
  const variable quiet("MOTET_QUIET", "1");
  product_cache made(folder.path(), "GPU");
  made.keep("a", one);
  made.keep("b", one);
  std::string text(motet::mapped_file(made.file()).text());
  const auto spoil = [&](const std::string& broken, const std::string& why) {
    motet::write_file(made.file(), broken);
    news();
    product_cache found(folder.path(), "GPU");
    CHECK(found.find("a") == nullptr);
    CHECK(product_cache(folder.path(), "GPU").find("b") == nullptr);
    CHECK(news() == std::vector<std::string>{
                        "motet: a file of timed products is ignored: " + made.file().string() + ", " + why +
                        ". Nothing: products are timed again, and the file is written anew; MOTET_QUIET=1 "
                        "says nothing [MT-B36]"});
    found.keep("c", other);
    const product_cache next(folder.path(), "GPU");
    CHECK(*next.find("c") == other);
    CHECK(next.find("a") == nullptr);
  };
  spoil(text.substr(0, text.size() - 10), "line 4: a line of printable characters is missing");
  spoil("", "line 1: a line of printable characters is missing");
  std::string moved = text;
  moved.replace(moved.find("of GPU"), 6, "of CPU");
  spoil(moved, "line 2: got 'CPU', wanted 'GPU'");
  news();
}

TEST_CASE("where nothing can be written, choices end with the program") {
  const scratch folder;
  const variable quiet("MOTET_QUIET", "1");
  motet::write_file(folder / "file", "no folder");
  news();
  product_cache made(folder / "file", "GPU");
  made.keep("a", one);
  made.keep("b", one);
  CHECK(*made.find("a") == one);
  const auto said = news();
  REQUIRE(said.size() == 1);
  CHECK(said[0].find("choices of timed products are not kept") != std::string::npos);
  CHECK(said[0].find("[MT-B37]") != std::string::npos);
  CHECK(motet::mapped_file(folder / "file").text() == "no folder");
}

TEST_CASE("two programs that write at once lose nothing") {
  const scratch folder;
  constexpr int each = 40;
  const auto write = [&](char name) {
    product_cache own(folder.path(), "GPU");
    for (int i = 0; i < each; ++i) own.keep(name + std::to_string(i), one);
  };
  const pid_t other_program = fork();
  if (other_program == 0) {
    write('b');
    _exit(0);
  }
  write('a');
  int status = 1;
  waitpid(other_program, &status, 0);
  CHECK(status == 0);
  const product_cache found(folder.path(), "GPU");
  for (const char name : {'a', 'b'})
    for (int i = 0; i < each; ++i) CHECK(found.find(name + std::to_string(i)) != nullptr);
  CHECK(folder.names().size() == 2);  // the choices and the lock
}
