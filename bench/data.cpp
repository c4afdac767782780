// SPDX-License-Identifier: Apache-2.0
// What data takes on one core: pictures decoded by this library, beside libjpeg-turbo and libspng alone in
// turns; and samples as a loader of one thread hands them over, read from a shard, decoded, cut out, resized,
// turned into floats, their captions into tokens; or texts alone. bench/peers/data_torch.py has the same
// files read by PyTorch's DataLoader. hand_over: what a step costs whoever takes it, when it is there
// already, made by threads of the same process, or by a producer and sent by TCP; and late_pictures, when its
// words are there and half of its pictures are asked for now, as no step does whose order was found beside
// the step before it.
//
//   bench_data [--folder FOLDER]      where the files are, made if there are none; else one that is removed
//              [--samples 512] [--side 256]      of the files that are made; pixels of a picture's side
//              [--image 224]          pixels of a side, as a model sees them
//              [--threads 1] [flags of Google Benchmark]
#include "suite.hpp"

#include <motet/data/pictures/decode.hpp>
#include <motet/data/shards/tar_writer.hpp>
#include <motet/data/steps/loader.hpp>
#include <motet/data/steps/sample_loader.hpp>
#include <motet/data/words/tokenizer_train.hpp>
#include <motet/format/files/atomic_file.hpp>
#include <motet/front/feed/produced_feed.hpp>
#include <motet/front/feed/sample_producer.hpp>
#include <motet/tensor/random.hpp>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <sys/resource.h>
#include <unistd.h>

namespace {

using namespace motet;
namespace fs = std::filesystem;
using bytes = std::vector<std::uint8_t>;

struct wishes {
  std::string folder;
  motet::isize samples = 512, side = 256, image = 224, threads = 1;
};

// Seconds of all processors that this process used.
double processor_seconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& of) {
    return static_cast<double>(of.tv_sec) + 1e-6 * static_cast<double>(of.tv_usec);
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

// Slopes of colour, twelve discs, and grain, so that files are about as large as those of photographs.
bitmap drawn_picture(motet::isize side, std::uint64_t seed) {
  const random_stream draws(seed, "picture");
  std::uint64_t at = 0;
  const auto draw = [&](std::uint32_t below) { return static_cast<int>(draws.below(at++, below)); };
  bitmap out{side, side, {}};
  out.pixels.resize(static_cast<std::size_t>(side * side * bitmap::channels));
  struct disc {
    int x, y, r, shade[3];
  };
  std::vector<disc> discs;
  const auto most = static_cast<std::uint32_t>(side);
  for (int k = 0; k < 12; ++k)
    discs.push_back({draw(most), draw(most), 4 + draw(most / 4), {draw(256), draw(256), draw(256)}});
  const int from[3] = {draw(256), draw(256), draw(256)}, to[3] = {draw(256), draw(256), draw(256)};
  std::size_t put = 0;
  for (int y = 0; y < side; ++y)
    for (int x = 0; x < side; ++x)
      for (int c = 0; c < 3; ++c) {
        int shade = from[c] + (to[c] - from[c]) * (x + y) / static_cast<int>(2 * side);
        for (const disc& each : discs)
          if ((x - each.x) * (x - each.x) + (y - each.y) * (y - each.y) < each.r * each.r)
            shade = each.shade[c];
        out.pixels[put++] = static_cast<std::uint8_t>(std::clamp(shade + draw(17) - 8, 0, 255));
      }
  return out;
}
std::string drawn_text(std::uint64_t seed, motet::isize words) {
  const random_stream draws(seed, "words");
  std::string out;
  for (motet::isize k = 0; k < words; ++k) {
    // Few words are common, and most are rare.
    const double share = draws.uniform(static_cast<std::uint64_t>(k));
    std::uint64_t word = mixed_bits(static_cast<std::uint64_t>(2000 * share * share * share));
    if (k > 0) out += ' ';
    for (std::uint64_t letters = 2 + word % 7; letters > 0; --letters, word /= 26)
      out += static_cast<char>('a' + word % 26);
  }
  return out;
}

// The files of a kind: shards of pictures with captions, and lines of text.
class drawn_files {
 public:
  explicit drawn_files(const wishes& wanted)
      : wanted_(wanted), folder_(wanted.folder.empty() ? made_folder() : fs::path(wanted.folder)) {
    fs::create_directories(folder_);
    if (!fs::exists(path("text"))) write_texts();
    for (const char* const kind : {"jpeg", "png"})
      if (!fs::exists(path(kind))) write_pictures(kind);
    tokenizer_trainer trainer;
    for (motet::isize k = 0; k < std::min<motet::isize>(wanted.samples, 512); ++k) {
      trainer.add(drawn_text(number(k), 12));
      trainer.add(drawn_text(1000000 + number(k), 120));
    }
    words_.emplace(trainer.train(2048));
  }
  drawn_files(const drawn_files&) = delete;
  drawn_files& operator=(const drawn_files&) = delete;
  ~drawn_files() {
    std::error_code ignored;
    if (wanted_.folder.empty()) fs::remove_all(folder_, ignored);
  }

  const wishes& wanted() const { return wanted_; }
  const tokenizer& words() const { return *words_; }
  std::string path(const std::string& kind) const {
    return (folder_ / (kind == "text" ? "text.txt" : kind + ".tar")).string();
  }
  std::vector<bytes> pictures(const std::string& kind, motet::isize most) const {
    skip_log skips(true);
    const pair_source source({path(kind)}, skips);
    std::vector<bytes> out(static_cast<std::size_t>(std::min(most, source.size())));
    for (std::size_t k = 0; k < out.size(); ++k) source.read_picture(static_cast<motet::isize>(k), out[k]);
    return out;
  }

 private:
  static fs::path made_folder() {
    return fs::temp_directory_path() / ("bench_data." + std::to_string(getpid()));
  }
  static std::uint64_t number(motet::isize k) { return static_cast<std::uint64_t>(k); }
  void write_texts() const {
    std::string all;
    for (motet::isize k = 0; k < wanted_.samples; ++k) all += drawn_text(1000000 + number(k), 120) + "\n";
    write_file(path("text"), all);
  }
  void write_pictures(const std::string& kind) const {
    tar_writer shard(path(kind));
    for (motet::isize k = 0; k < wanted_.samples; ++k) {
      const bitmap drawn = drawn_picture(wanted_.side, number(k));
      const std::string name = sentence({1000000 + k});
      shard.add(name + (kind == "png" ? ".png" : ".jpg"),
                kind == "png" ? encode_png(drawn) : encode_jpeg(drawn));
      shard.add(name + ".txt", drawn_text(number(k), 12));
    }
    shard.finish();
    shard.commit();
  }

  wishes wanted_;
  fs::path folder_;
  std::optional<tokenizer> words_;
};

// What the libraries' manuals show, and no more.
#if MOTET_HAS_JPEG
void jpeg_alone(const bytes& file, bytes& into) {
  jpeg_decompress_struct info{};
  jpeg_error_mgr errors{};
  info.err = jpeg_std_error(&errors);
  jpeg_create_decompress(&info);
  jpeg_mem_src(&info, file.data(), static_cast<unsigned long>(file.size()));
  jpeg_read_header(&info, TRUE);
  info.out_color_space = JCS_RGB;
  jpeg_start_decompress(&info);
  const std::size_t row = std::size_t{info.output_width} * 3;
  into.resize(row * info.output_height);
  while (info.output_scanline < info.output_height) {
    JSAMPROW line = into.data() + info.output_scanline * row;
    jpeg_read_scanlines(&info, &line, 1);
  }
  jpeg_finish_decompress(&info);
  jpeg_destroy_decompress(&info);
}
#endif
#if MOTET_HAS_SPNG
void png_alone(const bytes& file, bytes& into) {
  spng_ctx* const png = spng_ctx_new(0);
  spng_set_png_buffer(png, file.data(), file.size());
  std::size_t size = 0;
  spng_decoded_image_size(png, SPNG_FMT_RGB8, &size);
  into.resize(size);
  spng_decode_image(png, into.data(), size, SPNG_FMT_RGB8, 0);
  spng_ctx_free(png);
}
#endif

void tell_rates(benchmark::State& state, double samples, double file_bytes, double seconds) {
  state.counters["samples_per_second"] = samples / seconds;
  state.counters["megabytes_per_second"] = file_bytes / seconds / 1e6;
}

void decode(benchmark::State& state, const drawn_files& files, const std::string& kind,
            void (*alone)(const bytes&, bytes&)) {
  const std::vector<bytes> all = files.pictures(kind, 64);
  double size = 0;
  for (const bytes& each : all) size += static_cast<double>(each.size());
  bitmap made;
  bytes other;
  for (const bytes& each : all) {
    decode_picture(each, made);
    alone(each, other);
    if (made.pixels != other) return state.SkipWithError("the library alone decodes other pixels");
  }
  bench::series ours(bench::thread_seconds), theirs(bench::thread_seconds);
  for (auto _ : state) {
    state.SetIterationTime(ours.take([&] {
      for (const bytes& each : all) decode_picture(each, made);
    }));
    theirs.take([&] {
      for (const bytes& each : all) alone(each, other);
    });
  }
  tell_rates(state, static_cast<double>(all.size()), size, ours.median());
  state.counters["of_library_alone"] = (theirs / ours).median();
}

// All samples of a file once, in an order by chance.
template <class Loader, class Source>
void load(benchmark::State& state, const drawn_files& files, const std::string& kind,
          sample_loader_config config) {
  skip_log skips(true);
  const Source source({files.path(kind)}, skips);
  config.batch = std::min<motet::isize>(64, source.size());
  config.threads = static_cast<int>(files.wanted().threads);
  config.cache_bytes = 0;
  config.example.image = files.wanted().image;
  const motet::isize batches = source.size() / config.batch;
  bench::series wall, processors(processor_seconds);
  for (auto _ : state)
    processors.take([&] {
      state.SetIterationTime(wall.take([&] {
        // A loader ahead of its batches would be paid for more than it gave, so it is made anew.
        config.ready = 1;
        Loader loader(source, files.words(), config);
        for (motet::isize b = 0; b < batches; ++b) benchmark::DoNotOptimize(loader.next().size());
      }));
    });
  const auto samples = static_cast<double>(batches * config.batch);
  tell_rates(state, samples, static_cast<double>(fs::file_size(files.path(kind))), wall.median());
  state.counters["samples_per_processor_second"] = samples / processors.median();
}

// Steps of 64 pictures, each taken when it is there.
enum class made_by { threads, producer, producer_asked_late };
void hand_over(benchmark::State& state, const drawn_files& files, const std::string& kind, made_by whom) {
  const fs::path folder = fs::path(files.path(kind)).parent_path() / ("set." + kind);
  fs::create_directories(folder);
  fs::copy_file(files.path(kind), folder / "train-0.tar", fs::copy_options::overwrite_existing);
  write_file(folder / "tokenizer.json", format_tokenizer(files.words()));
  const data_wishes wishes{.data = folder.string(), .batch = 64, .threads = files.wanted().threads};
  const sample_shape shape{.model = "a pair of towers",
                           .image = files.wanted().image,
                           .vocabulary = files.words().size(),
                           .context = 64};
  const data_folder data(wishes, shape);
  std::optional<sample_producer> producer;
  std::unique_ptr<feed> from;
  if (whom != made_by::threads) {
    producer.emplace(producer_options{.data = wishes.data, .threads = wishes.threads});
    produced_options how{.from = {{"127.0.0.1", producer->port()}}};
    if (whom == made_by::producer_asked_late) {
      how.line = std::make_shared<share_line>();
      how.choose = [line = how.line](const step_input&) { line->say(std::vector<interval>{{0, 32}}); };
    }
    from = open_produced(data, nullptr, wishes, shape, std::move(how));
  } else {
    from = open_data(data, nullptr);
  }
  from->next();
  bench::series wall;
  for (auto _ : state) {
    while (!from->ahead()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    state.SetIterationTime(wall.take([&] { benchmark::DoNotOptimize(from->next()); }));
  }
  state.counters["megabytes"] = 64.0 * 3 * 4 * static_cast<double>(shape.image * shape.image) / 1e6;
  state.counters["at_most_ms"] = 1e3 * wall.most();
}

}  // namespace

int main(int count, char** words) {
  wishes wanted;
  std::unique_ptr<drawn_files> files;
  motet::options line("bench_data", "what data takes on one core");
  line.text("--folder", wanted.folder, "FOLDER",
            "where the files are, made if there are none; without it, a folder that is removed");
  line.count("--samples", wanted.samples, 64, "of each kind of files that are made");
  line.count("--side", wanted.side, 16, "pixels of a side of their pictures");
  line.count("--image", wanted.image, 1, "pixels of a side, as a model sees them");
  line.count("--threads", wanted.threads, 1, "of a loader");
  return bench::run(count, words, line, [&] {
    files = std::make_unique<drawn_files>(wanted);
    constexpr motet::isize rows_of_text = 512;
    sample_loader_config pairs, texts;
    texts.example.context = rows_of_text;
    texts.sample = {.rows_of_picture = 1, .lead = 0, .most_pictures = 1, .marks = marks_of(files->words())};
#if MOTET_HAS_JPEG
    bench::add("decode/jpeg", decode, std::cref(*files), "jpeg", jpeg_alone)->Unit(benchmark::kMillisecond);
#endif
#if MOTET_HAS_SPNG
    bench::add("decode/png", decode, std::cref(*files), "png", png_alone)->Unit(benchmark::kMillisecond);
#endif
    for (const char* const kind : {"jpeg", "png"})
      bench::add(std::string("samples/") + kind, load<pair_loader, pair_source>, std::cref(*files), kind,
                 pairs)
          ->Unit(benchmark::kMillisecond);
    for (const auto& [name, whom] :
         {std::pair("hand_over/in_process", made_by::threads), std::pair("hand_over/tcp", made_by::producer),
          std::pair("hand_over/late_pictures", made_by::producer_asked_late)})
      bench::add(name, hand_over, std::cref(*files), "png", whom)
          ->Iterations(32)  // making a step takes far longer
          ->Unit(benchmark::kMillisecond);
    bench::add("samples/text", load<sample_loader, sample_source>, std::cref(*files), "text", texts)
        ->Unit(benchmark::kMillisecond);
  });
}
