#!/bin/bash
# sbatch THIS; flags of sbatch (--partition, --account) go before the file's name and override those here.
#SBATCH --job-name=@plain:name@
#SBATCH --nodes=@plain:count@
@if:nodes@#SBATCH --nodelist=@plain:nodes@
#SBATCH --ntasks-per-node=1
#SBATCH --exclusive
#SBATCH --no-kill
#SBATCH --time=@plain:minutes@
dir=@sh:out_dir@
mkdir -p "$dir" && scontrol show hostnames "$SLURM_JOB_NODELIST" >"$dir/nodes.txt" || exit 125
# One node that fails or hangs ends no other. The status is the largest of all nodes.
srun --nodes="$SLURM_JOB_NUM_NODES" --ntasks-per-node=1 --kill-on-bad-exit=0 --wait=0 sh -c @sh:node@
