// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/plan/describe/model_facts.hpp>
#include <motet/plan/order/step_headers.hpp>
#include <motet/runtime/messages.hpp>
#include <motet/runtime/stage/model_table.hpp>

#include <algorithm>
#include <utility>

namespace motet {

namespace detail {

// A sample of an eye may have several pictures.
template <class Net>
isize rows_of_sample(const typename Net::input& of, isize sample) {
  if constexpr (requires { input_traits<Net>::first_row(of, sample); })
    return input_traits<Net>::first_row(of, sample + 1) - input_traits<Net>::first_row(of, sample);
  else return Net::rows(of).rows_of(sample);
}
template <class Net>
double work_of_longest() {
  return std::max(1.0, work_of_rows<Net>(Net::rows(input_traits<Net>::largest(1)).rows()));
}
template <class Net>
void add_headers(const typename Net::input& of, step_headers& out) {
  if (const isize got = input_traits<Net>::samples(of); got != out.samples)
    fail(bad_sample_order, sentence({"a batch of ", got, " samples, the steps have ", out.samples}));
  for (isize s = 0; s < out.samples; ++s) {
    const isize rows = rows_of_sample<Net>(of, s);
    out.rows.push(static_cast<double>(rows));
    out.work.push(work_of_rows<Net>(rows));
  }
}

}  // namespace detail

// What each sample of a batch brings to each module of a model. Throws MT-R37 for a batch of another number
// of samples.
template <class Model>
step_headers headers_of(const typename Model::batch& whole, isize samples) {
  step_headers out;
  out.samples = static_cast<std::int32_t>(samples);
  for (const std::string_view name : Model::names) out.modules.push(label(name));
  const batch_inputs<Model> all(whole);
  [&]<std::size_t... K>(std::index_sequence<K...>) {
    (detail::add_headers<typename Model::template module_at<K>::net>(
         *static_cast<const typename Model::template module_at<K>::net::input*>(all[K]), out),
     ...);
  }(std::make_index_sequence<Model::size>{});
  return out;
}

// The work of the longest sample that each module takes.
template <class Model>
list<double> longest_work() {
  list<double> out;
  [&]<std::size_t... K>(std::index_sequence<K...>) {
    (out.push(detail::work_of_longest<typename Model::template module_at<K>::net>()), ...);
  }(std::make_index_sequence<Model::size>{});
  return out;
}

// The same with its work as a share of that of the longest sample.
template <class Model>
step_headers loads_of(const typename Model::batch& whole, isize samples) {
  step_headers out = headers_of<Model>(whole, samples);
  const list<double> longest = longest_work<Model>();
  for (isize at = 0; at < out.work.size(); ++at) out.work[at] /= longest[at / samples];
  return out;
}

}  // namespace motet
