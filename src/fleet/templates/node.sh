{
# One node. Its exit status and its standard error go to files of its own; braces, so that a shell reads all before it begins.
node=${SYSCOST_NODE:-${SLURMD_NODENAME:-$(uname -n)}}
@if:out_dir@dir=@sh:out_dir@
@if:fetched@dir=$SYSCOST_FLEET_DIR
if [ ! -d "$dir" ]; then
    printf "%s: %s is no directory here: nodes must share it\n" "$node" "$dir" >&2
    exit 125
fi
mkdir -p "$dir/nodes" || exit 125
mine=$dir/nodes/$(printf %s "$node" | tr -c "A-Za-z0-9._-" _)
printf "began %s\n" "$(date +%s)" >"$mine.status" || exit 125
timeout -k 10 @plain:limit@ @sh:command@ --out-dir "$dir" --label "node=$node" </dev/null >/dev/null 2>"$mine.stderr"
status=$?
printf "status %s\n" "$status" >>"$mine.status"
if [ "$status" -ne 0 ]; then
    printf "%s: exit status %s: %s\n" "$node" "$status" "$(tail -n 1 "$mine.stderr")" >&2
fi
exit "$status"
}
