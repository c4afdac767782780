// SPDX-License-Identifier: Apache-2.0
// labels: threads
#include <doctest/doctest.h>

#include <motet/data/steps/loader.hpp>
#include <motet/data/steps/sample_loader.hpp>

#include <unit/data/written_set.hpp>

#include <atomic>
#include <condition_variable>
#include <map>
#include <mutex>
#include <thread>

using namespace motet;

namespace {

struct taken {
  std::vector<motet::isize> samples, offsets, picture_offsets;
  std::vector<std::int32_t> ids, targets, places;
  std::vector<float> pixels;
  std::vector<std::uint8_t> bytes;
  bool operator==(const taken&) const = default;
};

taken copy(const sample_batch& batch, motet::isize rows_of_picture = 5) {
  const pictured_tokens in = batch.input();
  const motet::isize rows = in.seq.rows(), pictures = batch.pictures;
  CHECK(in.seq.samples == batch.size());
  CHECK(in.seen.samples == pictures);
  CHECK(in.picture_offsets[batch.size()] == pictures);
  taken out{batch.samples,
            {in.seq.offsets, in.seq.offsets + batch.size() + 1},
            {in.picture_offsets, in.picture_offsets + batch.size() + 1},
            {in.ids, in.ids + rows},
            {in.targets, in.targets + rows},
            {in.places, in.places + pictures * rows_of_picture},
            {},
            {}};
  if (batch.pixels.data != nullptr)
    out.pixels.assign(batch.pixels.data, batch.pixels.data + pictures * batch.pixels.width);
  for (motet::isize p = 0; p < pictures && batch.packed.bytes != nullptr; ++p) {
    const packed_picture& one = batch.packed.each[p];
    CHECK(one.pitch > 0);
    out.bytes.insert(out.bytes.end(), batch.packed.of(p), batch.packed.of(p) + one.pitch * one.height);
  }
  return out;
}

std::vector<taken> batches(sample_loader& from, motet::isize count) {
  std::vector<taken> out;
  for (motet::isize i = 0; i < count; ++i) out.push_back(copy(from.next()));
  return out;
}

// 40 mixed samples in two shards.
struct mixed_set {
  scratch folder;
  tokenizer words = pairs_tokenizer();
  std::vector<std::string> shards;
  explicit mixed_set(const std::function<bool(motet::isize)>& damaged = {})
      : shards{write_mixed(folder, "a.tar", 0, 25, {}, damaged),
               write_mixed(folder, "b.tar", 25, 15, {}, damaged)} {}

  sample_loader_config config(int threads, motet::isize batch = 12) const {
    sample_loader_config made;
    made.batch = batch;
    made.threads = threads;
    made.example.image = 8;
    made.example.context = 40;
    made.sample = {5, 1, 2, marks_of(words)};
    return made;
  }
};

// So many processes ask each other, all of them alike.
class meeting_of {
 public:
  explicit meeting_of(motet::isize count) : count_(count) {}
  bool any(bool here) {
    std::unique_lock hold(guard_);
    found_ = found_ || here;
    const motet::isize turn = turn_;
    if (++there_ == count_) {
      said_ = found_;
      found_ = false;
      there_ = 0;
      ++turn_;
      wake_.notify_all();
    }
    wake_.wait(hold, [&] { return turn_ != turn; });
    return said_;
  }

 private:
  motet::isize count_, there_ = 0, turn_ = 0;
  bool found_ = false, said_ = false;
  std::mutex guard_;
  std::condition_variable wake_;
};

bool some(motet::isize i) { return i % 9 == 3 || i == 6; }

}  // namespace

TEST_CASE(
    "the same mixed batches with one thread and with three, cached or not, damaged or not, packed or not") {
  for (const bool damaged : {false, true}) {
    const mixed_set set(damaged ? some : std::function<bool(motet::isize)>{});
    for (const motet::isize rows : {0, 150}) {
      std::vector<taken> wanted;
      for (const int threads : {1, 3}) {
        for (const motet::isize cache : {motet::isize{0}, motet::isize{1} << 20}) {
          skip_log skips;
          const sample_source source(set.shards, skips);
          sample_loader_config config = set.config(threads);
          config.cache_bytes = cache;
          config.rows = rows;
          sample_loader loader(source, set.words, config);
          const auto found = batches(loader, 16);
          if (wanted.empty()) wanted = found;
          CHECK(found == wanted);
          // Samples 3, 21, 30 and 39 have pictures, and 6 has two; 12 is text alone.
          if (damaged) CHECK(skips.count(skip::bad_picture) == 5);
        }
      }
    }
  }
}

TEST_CASE("rows, targets and places are those of the pieces") {
  const mixed_set set;
  skip_log skips;
  const sample_source source(set.shards, skips);
  sample_loader_config config = set.config(2);
  config.augment.reset();
  sample_loader loader(source, set.words, config);
  sample_reader reader(source, set.words, config.example, config.sample);
  for (int step = 0; step < 7; ++step) {
    const sample_batch& batch = loader.next();
    const pictured_tokens in = batch.input();
    motet::isize picture = 0, asked = 0;
    std::vector<float> pixels(3 * 64);
    for (motet::isize s = 0; s < 12; ++s) {
      const motet::isize sample = batch.samples[static_cast<std::size_t>(s)];
      const read_sample* const want = reader.get(sample);
      REQUIRE(want != nullptr);
      CHECK(in.seq.rows_of(s) == reader.rows(sample));
      CHECK(in.picture_offsets[s + 1] - in.picture_offsets[s] == source.pictures(sample));
      motet::isize row = in.seq.begin(s), shot = 0;
      auto token = want->tokens.begin();
      for (const auto& each : want->order) {
        if (each.kind == piece_kind::picture) {
          reader.pixels(*want, shot++, nullptr, random_stream(0, 0), pixels.data());
          CHECK(std::equal(pixels.begin(), pixels.end(), batch.pixels.row(picture)));
          CHECK(in.places[5 * picture] == -1);
          for (motet::isize r = 0; r < 4; ++r) {
            CHECK(in.places[5 * picture + 1 + r] == row);
            CHECK(in.ids[row++] == -1);
          }
          ++picture;
          continue;
        }
        for (motet::isize t = 0; t < each.tokens; ++t, ++row, ++token) {
          CHECK(in.ids[row] == *token);
          if (row > in.seq.begin(s))
            CHECK(in.targets[row - 1] == (each.kind == piece_kind::asked ? *token : -1));
          asked += each.kind == piece_kind::asked && row > in.seq.begin(s) ? 1 : 0;
        }
      }
      CHECK(row == in.seq.end(s));
    }
    CHECK(picture == batch.pictures);
    CHECK(in.share == doctest::Approx(1.0 / static_cast<double>(asked)));
  }
}

TEST_CASE("sounds come in the order of their samples, on any number of threads, cached or not") {
  const scratch folder;
  const tokenizer words = pairs_tokenizer();
  const std::string shard = write_heard(folder, "a.tar", 24, [](motet::isize i, std::string& sound) {
    if (i % 7 == 2) sound.resize(400);
    if (i % 7 == 3) sound[24] = '\x40', sound[25] = '\x1f';  // 8,000 numbers a second
  });
  for (const motet::isize rows : {0, 90}) {
    std::vector<std::vector<float>> wanted;
    for (const int threads : {1, 3}) {
      skip_log skips;
      const sample_source source({shard}, skips);
      sample_loader_config config;
      config.batch = 7, config.threads = threads, config.rows = rows;
      config.cache_bytes = threads == 1 ? 0 : motet::isize{1} << 20;
      config.example.image = 8, config.example.context = 40;
      config.sample = {5, 1, 1, marks_of(words), 0, {.most = 2, .rows = 3, .bins = 6, .frames = 5}};
      sample_loader loader(source, words, config);
      sample_reader reader(source, words, config.example, config.sample);
      std::vector<std::vector<float>> found;
      for (int step = 0; step < 9; ++step) {
        const sample_batch& batch = loader.next();
        const pictured_tokens in = batch.input();
        found.push_back(batch.features);
        motet::isize sound = 0;
        for (motet::isize s = 0; s < 7; ++s) {
          const motet::isize sample = batch.samples[static_cast<std::size_t>(s)];
          CHECK(in.heard.before(s) == sound);
          if (sample < 0) continue;
          const std::vector<float>& want = reader.get(sample)->heard;
          CHECK(std::equal(want.begin(), want.end(), in.heard.features + sound * 30));
          for (motet::isize k = 0; k < source.sounds(sample) * 3; ++k) {
            const motet::isize place = in.heard_places[sound * 3 + k];
            CHECK(in.ids[place] == -1);
            CHECK((place >= in.seq.begin(s) && place < in.seq.end(s)));
          }
          sound += source.sounds(sample);
        }
        CHECK(batch.sounds == sound);
        CHECK(in.heard.samples == sound);
        CHECK(in.heard.before(7) == sound);
      }
      CHECK(skips.count(skip::bad_sound) == 4);
      CHECK(skips.resampled() == 3);
      CHECK(skips.resampled_summary().find("a.tar: h3 (8000 to 16000 numbers a second)") !=
            std::string::npos);
      if (wanted.empty()) wanted = found;
      CHECK(found == wanted);
    }
  }
}

TEST_CASE("pairs give the batches that a loader of pairs gives") {
  const scratch folder;
  const auto damage = [](motet::isize i, made_sample& made) {
    if (i % 9 == 3) made.picture.resize(40);
  };
  const std::string shard = write_pairs(folder, "a.tar", 0, 30, damage);
  const tokenizer words = pairs_tokenizer();
  skip_log skips;
  const sample_source source({shard}, skips);
  const pair_source pairs({shard}, skips);
  sample_loader_config config;
  config.batch = 8;
  config.threads = 2;
  config.example.image = 8;
  config.example.context = 60;
  config.sample = {4, 0, 1, marks_of(words)};
  for (const picture_form form : {picture_form::floats, picture_form::bytes}) {
    config.form = form;
    loader_config plain = config;
    sample_loader loader(source, words, config);
    pair_loader other(pairs, words, plain);
    for (int step = 0; step < 9; ++step) {
      const sample_batch& batch = loader.next();
      const pair_batch& pair = other.next();
      CHECK(batch.samples == pair.samples);
      REQUIRE(batch.pictures == 8);
      const pictured_tokens in = batch.input();
      for (motet::isize s = 0; s < 8; ++s) {
        CHECK(in.seq.rows_of(s) == 4 + pair.captions().rows_of(s));
        CHECK(std::equal(in.ids + in.seq.begin(s) + 4, in.ids + in.seq.end(s),
                         pair.tokens.begin() + pair.captions().begin(s)));
        if (form == picture_form::floats)
          CHECK(std::equal(batch.pixels.row(s), batch.pixels.row(s) + 192, pair.pixels.row(s)));
        else
          CHECK(std::equal(batch.packed.of(s),
                           batch.packed.of(s) + batch.packed.each[s].pitch * batch.packed.each[s].height,
                           pair.packed.of(s)));
      }
    }
  }
}

TEST_CASE("filled to a number of rows, an epoch has every sample once, and no batch has more rows") {
  for (const bool damaged : {false, true}) {
    const mixed_set set(damaged ? some : std::function<bool(motet::isize)>{});
    skip_log skips;
    const sample_source source(set.shards, skips);
    sample_loader_config config = set.config(2, 20);
    config.rows = 100;
    config.window = 6;
    sample_loader loader(source, set.words, config);
    std::map<motet::isize, motet::isize> seen;
    motet::isize rows = 0, steps = 0, most = 0;
    while (loader.position().next < 400) {
      const sample_batch& batch = loader.next();
      const motet::isize own = batch.input().seq.rows();
      CHECK(own <= 100);
      rows += own;
      ++steps;
      for (const motet::isize sample : batch.samples)
        if (sample >= 0) ++seen[sample];
      CHECK(loader.position().waiting.size() <= 6);
      most = std::max(most, static_cast<motet::isize>(loader.position().waiting.size()));
    }
    CHECK(most > 0);
    // Places before `next` are those that were given and those that wait.
    run_order order(source.size(), config.seed, true);
    for (const motet::isize place : loader.position().waiting) ++seen[order(place)];
    motet::isize beyond = loader.position().next - 400;
    for (motet::isize place = 400; beyond > 0; ++place, --beyond) --seen[order(place)];
    const auto whole = [&](motet::isize i) { return !damaged || !(some(i) && i != 12); };
    for (motet::isize i = 0; i < 40; ++i) {
      CAPTURE(i);
      // A damaged one may still wait, or be counted away behind the last epoch.
      if (whole(i)) CHECK(seen[i] == 10);
      else CHECK(std::abs(seen[i]) <= 1);
    }
    // The steps are full: the smallest sample has 5 rows.
    if (!damaged) CHECK(rows > 88 * steps);
  }
}

TEST_CASE("pictures of any shape keep theirs, on any number of threads, cached or not, and after a resume") {
  const auto damaged = [](motet::isize i) { return i % 9 == 3; };
  const mixed_set set(damaged);
  std::vector<std::vector<std::int32_t>> wanted;
  for (const int threads : {1, 3})
    for (const motet::isize cache : {motet::isize{0}, motet::isize{1} << 20}) {
      skip_log skips;
      const sample_source source(set.shards, skips);
      sample_loader_config config = set.config(threads);
      config.cache_bytes = cache;
      config.rows = 60;
      // Pictures of 9 to 11 by 8 or 9 pixels: 2 x 2 patches, or 2 x 3.
      config.sample.shapes = {4, 6};
      config.sample.rows_of_picture = 7;
      sample_loader loader(source, set.words, config);
      sample_reader reader(source, set.words, config.example, config.sample);
      data_position middle;
      std::size_t at = 0;
      bool wide = false, square = false;
      for (int step = 0; step < 12; ++step) {
        if (step == 6) middle = loader.position();
        const sample_batch& batch = loader.next();
        const pictured_tokens in = batch.input();
        REQUIRE(in.seen.row_offsets != nullptr);
        CHECK(in.seq.rows() <= 60);
        motet::isize rows = 0, picture = 0;
        for (const motet::isize sample : batch.samples) {
          if (sample < 0) continue;
          rows += reader.rows(sample);
          for (const sample_piece& each : source.pieces(sample)) {
            if (each.kind != piece_kind::picture) continue;
            const packed_picture& own = batch.packed.each[picture++];
            CHECK(own.rows == 2);
            CHECK(own.columns == (each.width + 2) / 4);
            CHECK(own.pitch == 0);
            (own.columns == 3 ? wide : square) = true;
          }
        }
        CHECK(rows == in.seq.rows());
        CHECK(picture == batch.pictures);
        // All rows without a token are those of pictures, class tokens' rows are not among them.
        CHECK(std::count(in.ids, in.ids + in.seq.rows(), -1) == in.seen.row_offsets[picture] - picture);
        std::vector<std::int32_t> all(in.ids, in.ids + in.seq.rows());
        const auto* const numbers = reinterpret_cast<const std::int32_t*>(batch.packed.bytes);
        all.insert(all.end(), numbers, numbers + (in.seen.row_offsets[picture] - picture) * 48);
        all.insert(all.end(), in.places, in.places + in.seen.row_offsets[picture]);
        if (at == wanted.size()) wanted.push_back(all);
        CHECK(all == wanted[at++]);
      }
      CHECK((wide && square));
      sample_loader again(source, set.words, config, middle);
      const pictured_tokens in = again.next().input();
      CHECK(std::equal(in.ids, in.ids + in.seq.rows(), wanted[6].begin()));
    }
}

TEST_CASE(
    "without augmentation all of a picture of any shape is seen; a strip that is too long is left out") {
  const scratch folder;
  const tokenizer words = pairs_tokenizer();
  const std::string path = (folder / "a.tar").string();
  const bitmap wide = noise_picture(24, 8, 1);
  {
    tar_writer tar(path);
    for (const auto& [key, shot] : {std::pair("whole", wide), {"strip", noise_picture(40, 3, 2)}}) {
      tar.add(std::string(key) + ".ppm", encode_ppm(shot));
      tar.add(std::string(key) + ".txt", "a picture");
    }
    tar.finish();
    tar.commit();
  }
  skip_log skips;
  const sample_source source({path}, skips);
  sample_form form{7, 1, 2, marks_of(words)};
  form.shapes = {8, 6};
  sample_reader reader(source, words, {.image = 8, .context = 40}, form);
  const read_sample* const read = reader.get(0);
  REQUIRE(read != nullptr);
  CHECK(read->grids[0] == picture_grid{1, 3});
  std::vector<float> got(3 * 8 * 24), want(got.size());
  packed_picture made;
  CHECK(reader.pack(*read, 0, nullptr, random_stream(0, 0), reinterpret_cast<std::uint8_t*>(got.data()),
                    made) == static_cast<motet::isize>(got.size() * sizeof(float)));
  resampler()(wide, {0, 0, 24, 8, false}, 8, 24, {}, want.data());
  CHECK(got == want);
  CHECK(reader.get(1) == nullptr);
  CHECK(skips.count(skip::too_long) == 1);
  skip_log strict(true);
  const sample_source again({path}, strict);
  sample_reader refuses(again, words, {.image = 8, .context = 40}, form);
  CHECK_THROWS_WITH_AS(refuses.get(1),
                       doctest::Contains("a picture of 40 x 3 pixels, one side more than 6 times the other"),
                       error);
}

TEST_CASE("resumes exactly, in the middle of an epoch, also with other threads") {
  const mixed_set set(some);
  skip_log skips;
  const sample_source source(set.shards, skips);
  for (const motet::isize rows : {0, 130}) {
    sample_loader_config config = set.config(1);
    config.rows = rows;
    sample_loader whole(source, set.words, config);
    const auto wanted = batches(whole, 12);
    config.threads = 2;
    sample_loader first(source, set.words, config);
    CHECK(first.position().next == 0);
    batches(first, 5);
    const data_position position = first.position();
    if (rows == 0) CHECK(position.next == 60);
    config.threads = 3;
    sample_loader second(source, set.words, config, position);
    CHECK(second.position() == position);
    const auto rest = batches(second, 7);
    CHECK(std::equal(rest.begin(), rest.end(), wanted.begin() + 5));
    CHECK(second.position() == whole.position());
  }
}

TEST_CASE("a batch of which every sample is damaged gets another one; without any whole one it is an error") {
  const mixed_set set([](motet::isize i) { return i != 7; });
  skip_log skips;
  const sample_source source(
      {write_mixed(set.folder, "c.tar", 5, 2, {}, [](motet::isize i) { return i == 5; })}, skips);
  sample_loader_config config = set.config(1, 2);
  config.rows = 40;
  sample_loader loader(source, set.words, config);
  for (int step = 0; step < 6; ++step) CHECK(loader.next().input().seq.rows() > 0);
  skip_log others;
  const sample_source none({write_mixed(set.folder, "d.tar", 5, 2, {}, [](motet::isize) { return true; })},
                           others);
  sample_loader bad(none, set.words, config);
  CHECK(code_of([&] { bad.next(); }) == "MT-D10");
  config.rows = 0;
  sample_loader plain(none, set.words, config);
  CHECK(code_of([&] { plain.next(); }) == "MT-D10");
  // Texts that are all too long.
  config.rows = 40;
  const sample_source lines(
      {write_lines(set.folder, "e.txt", std::string(900, 'x') + "\n" + std::string(900, 'y'))}, others);
  sample_loader still(lines, set.words, config);
  CHECK(code_of([&] { still.next(); }) == "MT-D10");
}

TEST_CASE("text alone has no pictures at all") {
  const mixed_set set;
  skip_log skips;
  const sample_source source({write_lines(set.folder, "a.txt", "a picture\nof number 3\non the left\n")},
                             skips);
  sample_loader loader(source, set.words, set.config(2, 3));
  const sample_batch& batch = loader.next();
  CHECK(batch.pictures == 0);
  CHECK(batch.input().seq.rows() > 9);
  CHECK(batch.input().seen.samples == 0);
}

TEST_CASE("who reads a part of each step has the words of all and its own pictures, damaged or not") {
  constexpr motet::isize steps = 40, processes = 2, batch = 12;
  for (const bool damaged : {false, true}) {
    const mixed_set set(damaged ? some : std::function<bool(motet::isize)>{});
    for (const motet::isize rows : {0, 150}) {
      CAPTURE(damaged);
      CAPTURE(rows);
      skip_log skips;
      const sample_source source(set.shards, skips);
      sample_loader_config config = set.config(2, batch);
      config.rows = rows;
      sample_loader whole(source, set.words, config);
      const auto wanted = batches(whole, steps);
      meeting_of together(processes);
      std::atomic<motet::isize> apart{0}, asked{0}, read{0}, most{0};
      std::vector<std::thread> all;
      for (motet::isize p = 0; p < processes; ++p)
        all.emplace_back([&, p] {
          const interval own{p * batch / processes, (p + 1) * batch / processes};
          sample_loader_config part = config;
          part.part = {{own}, [&](bool here) {
                         ++asked;
                         return together.any(here);
                       }};
          skip_log others;
          const sample_source mine(set.shards, others);
          sample_loader loader(mine, set.words, part);
          for (const taken& want : wanted) {
            const taken got = copy(loader.next());
            const auto words_of = [](taken of) {
              of.pixels.clear();
              return of;
            };
            const auto at = [&](motet::isize s) {
              return want.pixels.begin() +
                     static_cast<std::ptrdiff_t>(192 * want.picture_offsets[as_size(s)]);
            };
            if (words_of(got) != words_of(want) || got.pixels.size() != want.pixels.size() ||
                !std::equal(at(own.begin), at(own.end),
                            got.pixels.begin() + (at(own.begin) - want.pixels.begin())))
              ++apart;
          }
          CHECK(loader.position() == whole.position());
          read += loader.statistics().pictures;
          if (loader.statistics().pictures > most) most = loader.statistics().pictures;
        });
      for (std::thread& each : all) each.join();
      CHECK(apart == 0);
      CHECK(asked == processes * steps);
      if (damaged) continue;
      // Those that were made ahead are counted, too.
      motet::isize pictures = 0;
      for (motet::isize k = 0; k < config.ready + 1; ++k) pictures += whole.next().pictures;
      for (const taken& each : wanted) pictures += each.picture_offsets.back();
      CHECK(read <= pictures);
      CHECK(most < 2 * pictures / 3);
    }
  }
}

TEST_CASE("positions of other data, and options out of range") {
  const mixed_set set;
  skip_log skips;
  const sample_source source(set.shards, skips), part({set.shards[0]}, skips);
  sample_loader loader(source, set.words, set.config(1));
  data_position position = loader.position();
  const auto code = [&](const sample_source& from, const sample_loader_config& config) {
    return code_of([&] { sample_loader(from, set.words, config, position); });
  };
  CHECK(code(part, set.config(1)) == "MT-D12");
  position.next = 5;
  position.waiting = {7};
  CHECK(code(source, set.config(1)) == "MT-D12");
  position.waiting = {3};
  CHECK(code(source, set.config(1)) == "MT-D12");
  sample_loader_config config = set.config(1);
  config.rows = 39;
  CHECK(code(source, config) == "MT-D13");
  config.rows = 40;
  CHECK(code(source, config).empty());
  config.window = 0;
  CHECK(code(source, config) == "MT-D13");
  config = set.config(1);
  config.sample.lead = 6;
  CHECK(code(source, config) == "MT-D13");
  config = set.config(1);
  config.form = picture_form::bytes;
  config.part = {{{0, 6}}, [](bool here) { return here; }};
  CHECK(code(source, config) == "MT-D13");
  CHECK(code(source, set.config(1, 41)) == "MT-D11");
}

TEST_CASE("strict makes damage an error, the same whatever the threads") {
  const mixed_set set(some);
  std::set<std::string> told;
  for (const int threads : {1, 3}) {
    skip_log strict(true);
    const sample_source source(set.shards, strict);
    sample_loader loader(source, set.words, set.config(threads));
    try {
      batches(loader, 10);
      CHECK(false);
    } catch (const error& problem) {
      CHECK(std::string(problem.code()) == "MT-D05");
      told.insert(problem.what());
    }
  }
  CHECK(told.size() == 1);
}
