#!/bin/sh
# Sorts each of 12 parts of a table in a process of its own, and merges them.
dir=$(mktemp -d "${TMPDIR:-/tmp}/parts-XXXXXX") || exit 1
trap 'rm -rf "$dir"' EXIT
part=1
while [ $part -le 12 ]; do
    awk -v seed=$part 'BEGIN { srand(seed); for (i = 0; i < 15000; i++) print int(rand() * 1000000), "row", i }' | sort -n >"$dir/$part"
    part=$((part + 1))
done
sort -n -m "$dir"/* | awk '{ sum += $1 * NR % 1000 } END { print sum }'
