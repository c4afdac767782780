// SPDX-License-Identifier: Apache-2.0
#include <motet/run/run_settings.hpp>

#include "run_parts.hpp"

#include <doctest/doctest.h>

using namespace motet;

TEST_CASE("the words of a command line are what a session is asked for") {
  const run_settings bare = settings_of({});
  CHECK(bare.model == "scripted");
  CHECK(bare.loss == "infonce");
  CHECK(bare.warmup_steps() == 100);
  CHECK(bare.validation_steps() == 50);
  CHECK(bare.second_beta() == 0.98);

  const room_options rooms = settings_of({"--rooms-by-rows", "--rank-bytes=5000"}).request().options.rooms;
  CHECK(rooms.by_rows);
  CHECK(rooms.most == 5000);
  CHECK_FALSE(bare.request().options.rooms.by_rows);

  const run_settings s =
      settings_of({"--model=absent", "--loss", "sigmoid", "--batch", "24", "--steps", "50", "--optimizer",
                   "lion", "--ema", "0.5", "--rates", "left=0.5", "--accumulate", "3", "--recompute",
                   "--keep-outputs", "--sm-share", "4,8"});
  const session_request wanted = s.request();
  CHECK(s.trained().name == "absent");
  CHECK(wanted.loss == "sigmoid");
  CHECK(wanted.options.batch == 24);
  CHECK(wanted.options.parts == 3);
  CHECK(wanted.options.ema == 0.5);
  CHECK(wanted.options.recompute);
  CHECK(wanted.options.keep_outputs);
  CHECK(wanted.options.optimizer.kind == optimizer_kind::lion);
  CHECK(wanted.options.optimizer.beta2 == 0.99);
  REQUIRE(wanted.options.paces.size() == 1);
  CHECK(wanted.options.paces[0].module == "left");
  CHECK(wanted.options.processors == std::vector<int>{4, 8});
  CHECK(s.warmup_steps() == 5);
  CHECK(s.rates().steps == 50);
  for (const char* share : {"4,", "x", "-1", "4,x"})
    CHECK_THROWS_WITH_AS(settings_of({"--sm-share", share}).shares(), doctest::Contains("--sm-share wants"),
                         error);
}

TEST_CASE("pictures go as bytes to a GPU, unless they are numbers without any") {
  CHECK(settings_of({"--data", "there"}).form() == picture_form::floats);
  CHECK(settings_of({"--data", "there", "--device", "cuda"}).form() == picture_form::bytes);
  CHECK(settings_of({"--data", "random", "--device", "cuda"}).form() == picture_form::floats);
  CHECK(settings_of({"--data", "there", "--pictures", "bytes"}).form() == picture_form::bytes);
}

TEST_CASE("a program has the options that its models can use") {
  const training_program speaks = speaking_program();
  CHECK(settings_of({"--rows", "99"}, speaks).rows == 99);
  CHECK(settings_of({}, speaks).defer == 1);
  CHECK(settings_of({"--defer", "4"}, speaks).defer == 4);
  CHECK_THROWS_AS(settings_of({"--defer", "4"}), error);
  CHECK_THROWS_AS(settings_of({"--loss", "infonce"}, speaks), error);
  CHECK_THROWS_AS(settings_of({"--rows", "99"}), error);
  CHECK(saved_settings(settings_of({}, speaks)).find("rows") != nullptr);
  CHECK(saved_settings(settings_of({})).find("rows") == nullptr);
}

TEST_CASE("an order of samples is asked for in one word, and is a setting of the run") {
  const training_program speaks = speaking_program();
  CHECK_FALSE(settings_of({}, speaks).reorders());
  const auto asked = [&](const char* word) { return settings_of({"--reorder", word}, speaks).questions(); };
  CHECK((asked("all").ranks && asked("all").slots));
  CHECK((asked("ranks").ranks && !asked("ranks").slots));
  CHECK((!asked("slots").ranks && asked("slots").slots));
  CHECK_FALSE((asked("none").ranks || asked("none").slots));
  CHECK((asked("modules").ranks && asked("modules").slots));
  CHECK(
      settings_of({"--reorder", "modules"}, speaks).reorder_words() ==
      "samples of each module go to its ranks that have least to do, microbatches run in the turns in which "
      "ranks wait least");
  CHECK_FALSE(settings_of({"--reorder", "all"}, speaks).rows_cross());
  CHECK_THROWS_AS(asked("some"), error);
  CHECK_THROWS_AS(settings_of({"--reorder", "all"}), error);
  const run_settings groups = settings_of({"--reorder", "ranks", "--reorder-groups", "8"}, speaks);
  CHECK(groups.questions().together == 8);
  CHECK(groups.reorder_words() == "samples go to the ranks that have least to do, within groups of 8 ranks");
  run_settings again(speaks);
  adopt_settings(again, command_line(again), saved_settings(groups));
  CHECK(again.reorder_groups == 8);
  const run_settings slots = settings_of({"--reorder", "slots"}, speaks);
  CHECK(slots.reorder_words() == "microbatches run in the turns in which ranks wait least");
  const json saved = saved_settings(slots);
  CHECK(saved.at("reorder").string() == "slots");
  run_settings s(speaks);
  adopt_settings(s, command_line(s), saved);
  CHECK(s.reorder == "slots");
}

TEST_CASE("whether scores take turns is a setting of a run") {
  const training_program speaks = speaking_program();
  CHECK_FALSE(settings_of({}, speaks).request().options.conduct);
  const run_settings asked = settings_of({"--conduct", "--conduct-margin", "0.25"}, speaks);
  CHECK(asked.request().options.conduct);
  CHECK(asked.request().conduct_margin == 0.25);
  run_settings s(speaks);
  adopt_settings(s, command_line(s), saved_settings(asked));
  CHECK(s.conduct);
  CHECK(s.conduct_margin == 0.25);
  CHECK_THROWS_AS(settings_of({"--conduct"}), error);
}

TEST_CASE("what is saved is taken up again where the command line says nothing") {
  const json saved = saved_settings(settings_of({"--batch", "24", "--lr", "0.5", "--seed", "9", "--no-flip",
                                                 "--loss", "sigmoid", "--warmup", "3", "--ema", "0.25"}));
  run_settings s(scripted_program);
  options line = command_line(s);
  const char* const words[] = {"program", "--lr", "0.125"};
  line.parse(3, words);
  adopt_settings(s, line, saved);
  CHECK(s.batch == 24);
  CHECK(s.rate == 0.125);
  CHECK(s.seed == 9);
  CHECK(s.no_flip);
  CHECK(s.loss == "sigmoid");
  CHECK(s.warmup == 3);
  CHECK(s.ema == 0.25);

  run_settings other(scripted_program);
  options seeded = command_line(other);
  const char* const with_seed[] = {"program", "--seed", "7"};
  seeded.parse(3, with_seed);
  CHECK_THROWS_WITH_AS(adopt_settings(other, seeded, saved),
                       doctest::Contains("--seed 7, the saved run has seed 9"), error);
}
