#!/bin/bash
# Slurm: sbatch slurm.sh. Each time limit ends a leg; the job goes back to the queue by itself until the run is done.
#SBATCH --job-name=motet
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=8
#SBATCH --time=04:00:00
#SBATCH --requeue
#SBATCH --open-mode=append
#SBATCH --signal=USR1@300
set -u
run=${RUN:-$PWD/run}

# srun passes SIGUSR1 on, five minutes before the limit: the ranks save at the end of their step and leave with 143.
resume=
for each in "$run"/step-*/index.json; do
  if [ -f "$each" ]; then resume=--resume; fi
done
srun --mpi=pmix train_clip --data "${DATA:-shapes}" --plan "${PLAN:-plan.json}" --checkpoint "$run" --save-every 500 $resume "$@"
status=$?

# From 128 on the run goes on from its checkpoint; 130 was somebody's wish.
if [ $status -ge 128 ] && [ $status -ne 130 ]; then
  scontrol requeue "$SLURM_JOB_ID"
fi
exit $status
