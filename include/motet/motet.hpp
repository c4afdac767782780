// SPDX-License-Identifier: Apache-2.0
#pragma once

// Everything that needs no accelerator; message passing between processes where MPI was found.
#include <motet/backend/cpu/device.hpp>
#include <motet/backend/transport/local.hpp>
#include <motet/backend/transport/local_group.hpp>
#include <motet/data/classes.hpp>
#include <motet/data/loader.hpp>
#include <motet/data/shards.hpp>
#include <motet/data/tar_writer.hpp>
#include <motet/data/tokenizer_file.hpp>
#include <motet/data/tokenizer_train.hpp>
#include <motet/format/checkpoint_write.hpp>
#include <motet/format/hf_clip.hpp>
#include <motet/format/hf_clip_describe.hpp>
#include <motet/format/hf_clip_header.hpp>
#include <motet/format/hf_clip_tensors.hpp>
#include <motet/format/hf_clip_write.hpp>
#include <motet/format/tensor_set.hpp>
#include <motet/model/contrastive_step.hpp>
#include <motet/model/describe.hpp>
#include <motet/nn/activation.hpp>
#include <motet/nn/dropout.hpp>
#include <motet/nn/text.hpp>
#include <motet/nn/vit.hpp>
#include <motet/runtime/checkpoint.hpp>
#include <motet/runtime/data_uri.hpp>
#include <motet/runtime/interrupt.hpp>
#include <motet/runtime/launch.hpp>
#include <motet/runtime/metrics.hpp>
#include <motet/runtime/options.hpp>
#include <motet/runtime/pipeline_trainer.hpp>
#include <motet/runtime/progress.hpp>
#include <motet/runtime/rate.hpp>
#include <motet/runtime/report.hpp>
#include <motet/runtime/stand_in.hpp>
#include <motet/runtime/trainer.hpp>
#include <motet/runtime/zero_shot.hpp>
#include <motet/schedule/analyse.hpp>
#include <motet/schedule/compile.hpp>
#include <motet/schedule/compose.hpp>
#include <motet/schedule/csv_read.hpp>
#include <motet/schedule/csv_write.hpp>
#include <motet/schedule/draw_svg.hpp>
#include <motet/schedule/draw_text.hpp>
#include <motet/schedule/draw_trace.hpp>
#include <motet/schedule/measured_costs.hpp>
#include <motet/schedule/proven.hpp>
#include <motet/schedule/replicate.hpp>
#include <motet/schedule/schedules.hpp>
#include <motet/strategy/bridge.hpp>
#include <motet/strategy/mesh.hpp>

#if defined(MOTET_HAS_MPI) && MOTET_HAS_MPI
#include <motet/backend/transport/mpi.hpp>
#include <motet/backend/transport/mpi_group.hpp>
#endif
