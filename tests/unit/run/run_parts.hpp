// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/run/opened_run.hpp>
#include <motet/runtime/save/checkpoint.hpp>

#include <unit/tools/data_folders.hpp>

#include <cstdio>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <unistd.h>

// A program of which nothing but the model is made up: each of its steps takes no time and halves the loss.

struct scripted_session : motet::session {
  explicit scripted_session(const motet::session_request& by) : wanted(by) {
    told.name = "scripted";
    told.loss = by.loss;
    told.precision = by.precision;
    told.shape = pair_shape();
    told.caption = told.shape.context;
    told.embedding = plain_model::width;
    told.parameters = 40;
    told.outline = {{"left", "one layer"}};
    told.parts = {{"left tower", "one layer of width 4"}};
    made = this;
  }
  ~scripted_session() override { made = nullptr; }
  static inline scripted_session* made = nullptr;  // the last one, for tests to look at

  const motet::session_facts& facts() const override { return told; }
  std::string machine() override { return "a machine of paper"; }
  int threads() const override { return 2; }
  double measure_peak() override { return 1e9; }
  std::string peak_product() const override { return "8 x 8"; }
  motet::operation_rates measure_rates(int) override { return {1e9, 0, 0}; }
  const motet::program& of() const override { return order; }
  std::vector<motet::rank_memory> memory() override {
    motet::rank_memory own;
    own.stages.weights = 400;
    own.stages.gradients = 100;
    own.work = 30;
    own.scratch = 5;
    own.threads = 2;
    return {own, own};
  }
  motet::program_work work() override { return {}; }
  motet::program_work work(const motet::step_input&) override { return {}; }
  motet::step_costs foretold_costs() override {
    motet::step_costs out;
    out.note(out.inside(-1, "left"), "linear", 3e9, 1e6);
    return out;
  }
  double flops(const motet::step_input&) override { return flops_of_step; }

  void prepare() override { ++prepared; }
  std::shared_ptr<void> pin(const void*, std::size_t) override { return {}; }
  std::vector<std::string> paths() override { return {"linear: by hand"}; }
  void expect(const motet::step_input&) override {}
  motet::step_result step(const motet::step_input&, double rate, motet::timeline* record) override {
    rates.push_back(rate);
    if (record != nullptr) recorded.push_back(updates());
    loss /= 2;
    for (std::size_t k = 0; k < parts.size(); ++k) parts[k].loss = loss / static_cast<double>(k + 2);
    return {.loss = loss, .gradient_norm = 1, .rate = rate, .seconds = 1e-3, .parts = parts};
  }
  const motet::reorder_told* reordered() const override {
    static constexpr motet::reorder_told gained{
        .listed_seconds = 5, .seconds = 4, .measured = true, .search_seconds = 1e-3};
    return wanted.reorder.ranks || wanted.reorder.slots ? &gained : nullptr;
  }
  const motet::score_names* scores() const override { return wanted.options.conduct ? &turns : nullptr; }
  const motet::conduct_told* conducted() const override {
    if (!wanted.options.conduct) return nullptr;
    const bool other = rates.size() % 2 == 0;
    conduct = {other ? 1 : 0, true, 5, other ? 4.0 : 5.0, true, 1e-3};
    return &conduct;
  }
  motet::isize updates() const override { return from + static_cast<motet::isize>(rates.size()); }
  void finish() override {}
  motet::step_costs costs() override {
    motet::step_costs out;
    const int left = out.inside(-1, "left");
    out.at(left).seconds = 1;
    out.at(out.inside(left, "mlp")).seconds = 3;
    return out;
  }
  void clear_costs() override {}

  void gather() override { ++gathered; }
  const std::vector<motet::parameter>& parameters() const override { return numbers; }
  std::vector<float> weights() override { return {}; }
  std::filesystem::path save(const std::filesystem::path& run, const std::string& name, motet::json state,
                             std::size_t) override {
    ++saves;
    if (failing_saves-- > 0) throw motet::error(motet::file_unwritable, "as told");
    saved_as = name;
    saved_state = std::move(state);
    return run / ("step-" + std::to_string(updates()));
  }
  void load(const motet::checkpoint& of, const std::string&) override { from = of.step(); }
  std::vector<motet::given_module> begin(const motet::checkpoint& with,
                                         const motet::begin_options& how) override {
    begun.push_back({with.path().string(), std::string(how.module), std::string(how.as)});
    return {{how.module.empty() ? "left" : std::string(how.module),
             how.as.empty() ? "left" : std::string(how.as)}};
  }
  bool is_main() const override { return true; }
  void require_same(const motet::run_identity&) override { ++compared; }
  bool any(bool here) override { return std::exchange(elsewhere, false) || here; }
  std::pair<bool, bool> any(bool first, bool second) override { return {first, second}; }

  void embed(const motet::pictures& batch, float* features) override { fill(batch.samples, features); }
  void embed(const motet::tokens& batch, float* features) override { fill(batch.seq.samples, features); }
  std::vector<std::int32_t> say(const motet::pictured_tokens&, std::int32_t, motet::isize) override {
    return {};
  }
  double loss_of(const motet::step_input&) override { return 1.5; }
  double logit_scale() const override { return 10; }

  motet::session_request wanted;
  motet::session_facts told;
  motet::program order;
  std::vector<motet::parameter> numbers;
  std::vector<double> rates;  // of its steps
  std::vector<motet::isize> recorded;
  double loss = 8;
  std::vector<motet::loss_part> parts;  // of the loss; none: it is one
  motet::isize from = 0;                // steps of the run that it goes on from
  int prepared = 0, gathered = 0, compared = 0, saves = 0, failing_saves = 0;
  double flops_of_step = 1e6;
  bool elsewhere = false;  // another process says yes to what is asked next
  std::vector<motet::begin_source> begun;
  std::string saved_as;
  motet::json saved_state;
  motet::score_names turns{{"1f1b", "gpipe"}, {"zb_v: another cast"}};
  mutable motet::conduct_told conduct;

 private:
  static void fill(motet::isize samples, float* features) {
    for (motet::isize k = 0; k < samples * plain_model::width; ++k) features[k] = 0.5f;
  }
};

inline std::unique_ptr<motet::session> make_scripted(const motet::session_request& wanted) {
  return std::make_unique<scripted_session>(wanted);
}
inline motet::list<motet::module_facts> facts_of_scripted() {
  motet::list<motet::module_facts> out;
  out.push({.name = "left", .layers = 4, .key_heads = 4});
  out.push({.name = "right", .layers = 2, .key_heads = 4});
  return out;
}

inline constexpr motet::named_plan scripted_plans[] = {{"both", "both on one rank",
                                                        [] {
                                                          motet::plan out;
                                                          for (const char* name : {"left", "right"})
                                                            out.modules.push(motet::on_ranks(name, 0, {}));
                                                          return out;
                                                        }},
                                                       {"beside", "one rank for each", [] {
                                                          motet::plan out{.cluster = {.ranks = 2},
                                                                          .modules = {}};
                                                          out.modules.push(motet::on_ranks("left", 0, {}));
                                                          out.modules.push(motet::on_ranks("right", 1, {}));
                                                          return out;
                                                        }}};
inline constexpr motet::trained_model scripted_models[] = {
    {"scripted", make_scripted, nullptr, facts_of_scripted}, {"absent", nullptr, nullptr, facts_of_scripted}};
inline constexpr std::string_view scripted_losses[] = {"infonce", "sigmoid"};
inline constexpr motet::next_program scripted_next[] = {{"embed", "--images FOLDER"},
                                                        {"compare_runs", "--run ANOTHER", true},
                                                        {"generate", "--picture FILE", false, "say-"}};
inline const motet::training_program scripted_program{
    .name = "train_scripted",
    .about = "trains nothing",
    .models = scripted_models,
    .plans = scripted_plans,
    .losses = scripted_losses,
    .next = scripted_next,
    .rebuild = [](std::string_view model) { return "say -DMODELS=" + std::string(model); },
};
// The same of samples with losses of their own.
inline motet::training_program speaking_program() {
  motet::training_program out = scripted_program;
  out.losses = std::span(scripted_losses).first(1);
  out.speaks = true;
  return out;
}

// Settings as this command line gives them.
inline motet::run_settings settings_of(std::vector<const char*> words,
                                       const motet::training_program& of = scripted_program) {
  motet::run_settings s(of);
  motet::options line = motet::command_line(s);
  words.insert(words.begin(), of.name);
  line.parse(static_cast<int>(words.size()), words.data());
  return s;
}
// The run that it asks for.
inline motet::opened_run run_of(std::vector<const char*> words) {
  return motet::opened_run(settings_of(std::move(words)), {}, {});
}
inline scripted_session& scripted(motet::opened_run& of) { return static_cast<scripted_session&>(*of.model); }

// Returns what `print` writes to standard output.
template <class Print>
std::string printed_by(Print&& print) {
  std::fflush(stdout);
  std::FILE* const file = std::tmpfile();
  // What is thrown meanwhile is told there where it was.
  struct redirected {
    explicit redirected(int to) : before(dup(STDOUT_FILENO)) { dup2(to, STDOUT_FILENO); }
    redirected(const redirected&) = delete;
    redirected& operator=(const redirected&) = delete;
    ~redirected() {
      std::fflush(stdout);
      dup2(before, STDOUT_FILENO);
      close(before);
    }
    int before;
  };
  {
    const redirected here(fileno(file));
    std::forward<Print>(print)();
  }
  std::string text(1 << 16, '\0');
  std::rewind(file);
  text.resize(std::fread(text.data(), 1, text.size(), file));
  std::fclose(file);
  return text;
}
inline bool holds(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}
