// SPDX-License-Identifier: Apache-2.0
#include <motet/jobs/files/trace.hpp>

#include <doctest/doctest.h>

using namespace motet;

namespace {
const std::string head =
    "job_id,submission_time,num_iteration,model_name,deadline,batch_size,num_gpu,gpu_type\n";
std::string said(const std::string& rows) {
  try {
    read_job_trace(head + rows, "t.csv", known_job_clusters()[2]);
  } catch (const error& problem) {
    return problem.what();
  }
  return "";
}
}  // namespace

TEST_CASE("a kind of the cluster stands for one of the trace") {
  const job_cluster cluster = known_job_clusters()[3];
  const std::string text = head + "one,0,10,moe__1B,90,256,16,v100\n";
  CHECK_THROWS_AS(read_job_trace(text, "t.csv", cluster), error);
  CHECK(read_job_trace(text, "t.csv", cluster, {{"a40", "l20"}, {"v100", "h100"}}).jobs[0].kind == 0);
  CHECK_THROWS_AS(read_job_trace(text, "t.csv", cluster, {{"v100", "v100"}}), error);
}

TEST_CASE("jobs are sorted by their submission, and it is told that they were not") {
  const job_trace got = read_job_trace(head +
                                           "a,30,100,moe__2.4B,900,256,4,h100\n"
                                           "b,10,100,moe__2.4B,900,256,4,l20\n"
                                           "c,10,100,moe__2.4B,900,256,8,h100\n",
                                       "t.csv", known_job_clusters()[2]);
  REQUIRE(got.jobs.size() == 3);
  CHECK(got.jobs[0].id == "b");
  CHECK(got.jobs[1].id == "c");
  CHECK(got.jobs[2].id == "a");
  CHECK(got.jobs[0].kind == 1);
  CHECK(got.out_of_order == 2);
  CHECK(got.first_out_of_order == 3);
}

TEST_CASE("each cell that does not fit is named") {
  const auto says = [](const std::string& rows, const char* what, const char* code) {
    const std::string text = said(rows);
    CAPTURE(text);
    CHECK(text.find(what) != text.npos);
    CHECK(text.find(code) != text.npos);
  };
  says("a,-1,100,moe__2.4B,900,256,4,h100\n", "line 2, column submission_time: got \"-1\"", "MT-J02");
  says("a,1,0,moe__2.4B,900,256,4,h100\n", "column num_iteration", "MT-J02");
  says("a,1,100,moe,900,256,4,h100\n", "column model_name", "MT-J02");
  says("a,1,100,moe__2.4B,x,256,4,h100\n", "column deadline", "MT-J02");
  says("a,1,100,moe__2.4B,900,,4,h100\n", "column batch_size", "MT-J02");
  says("a,1,100,moe__2.4B,900,256,4,a100\n", "got \"a100\", the cluster arena-b has h100, l20", "MT-J04");
  says("a,1,100,moe__2.4B,900,256,3,h100\n", "wanted a power of two", "MT-J06");
  says("a,1,100,moe__2.4B,900,256,256,h100\n", "the largest job that arena-b fits has 128 of its 128 h100",
       "MT-J06");
  says("a,1,100,m__2B,900,256,4,h100\na,1,100,m__2B,900,256,4,h100\n", "line 3", "MT-J03");
  says("", "no jobs", "MT-J02");
}
