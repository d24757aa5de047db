#!/bin/sh
# Measures anew and writes tests/golden/run.json: a real run of a few operations, one of which fails, with two samples of
# each time block. Needed only when the format of result files changes; then renew what is shown from it:
#     SNAPSHOTS=overwrite cargo test --test cli
# Needs jq.
set -eu
syscost=${1:?usage: make-run.sh SYSCOST}
folder=$(dirname "$0")
whole=$(mktemp)
trap 'rm -f "$whole"' EXIT

status=0
"$syscost" run call.getpid id.umask time.clock_gettime file.open_close io.fgets ipc.pipe dir.opendir_readdir_closedir \
    --param entries=5000 --time 4 --out "$whole" >/dev/null || status=$?
[ "$status" = 3 ] || { echo "make-run.sh: expected one operation to fail, exit status is $status" >&2; exit 1; }

# One record a line, as syscost writes them.
{
    jq -cj 'del(.records)' "$whole" | sed 's/}$/,"records":[/'
    echo
    jq -r '(.records | length) as $n | .records | to_entries[]
        | (.value | if .samples then .samples.blocks[].slots |= [.[0][:2]] else . end | tojson)
          + (if .key + 1 < $n then "," else "" end)' "$whole"
    echo ']}'
} >"$folder/run.json"
