#!/bin/sh
# Edit, then: sh clush.sh. One run on each node; -f N of clush is how many run at once. Names are those that `uname -n` prints.
nodes='n[1-3]'
# An absolute path that all nodes share.
dir=/shared/costs
mkdir -p "$dir/nodes" && nodeset -e -S '\n' "$nodes" >"$dir/nodes.txt" || exit 125
# The status is the largest of all nodes.
clush -S -u 660 -w "$nodes" sh -s "$dir" <<'END'
{
node=$(uname -n)
timeout -k 10 600 syscost run --study tour --out-dir "$1" --label "node=$node" </dev/null >/dev/null 2>"$1/nodes/$node.stderr"
status=$?
[ "$status" -eq 0 ] || echo "$node: exit status $status: see $1/nodes/$node.stderr" >&2
exit "$status"
}
END
