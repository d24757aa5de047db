#!/bin/bash
# Edit, then: sbatch slurm.sh. One run on each of three nodes, which it has to itself. Not an array, which may put several tasks on
# one node.
#SBATCH --job-name=syscost
#SBATCH --nodes=3
#SBATCH --ntasks-per-node=1
#SBATCH --exclusive
#SBATCH --no-kill
#SBATCH --time=11
# An absolute path that all nodes share.
dir=/shared/costs
mkdir -p "$dir/nodes" && scontrol show hostnames "$SLURM_JOB_NODELIST" >"$dir/nodes.txt" || exit 125
# One node that fails or hangs ends no other. The status is the largest of all nodes.
srun --nodes="$SLURM_JOB_NUM_NODES" --ntasks-per-node=1 --kill-on-bad-exit=0 --wait=0 sh -c '
node=$SLURMD_NODENAME
timeout -k 10 600 syscost run --study tour --out-dir "$1" --label "node=$node" </dev/null >/dev/null 2>"$1/nodes/$node.stderr"
status=$?
[ "$status" -eq 0 ] || echo "$node: exit status $status: see $1/nodes/$node.stderr" >&2
exit "$status"' sh "$dir"
