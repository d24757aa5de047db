# Bash loop: speaks the protocol of languages/README.md around a snippet.
#
# Nothing here forks. The loop's last command advances the counter, because bash rejects an empty list and a `:` would
# cost more than counting. EPOCHREALTIME is the wall clock in microseconds, hence `clock=wall`; its decimal point depends
# on the locale, so all non-digits are removed. Without forking, bash has no CPU time, page faults or context switches:
# they are 0, hence `switches=unknown`. A status other than 0 is not an error in a shell, but a missing command is.
: "${EPOCHREALTIME:?needs bash 5 or newer}"
command_not_found_handle() { # bash calls it in a subshell, hence the signal
    builtin echo "$0: line ${BASH_LINENO[0]}: $1: command not found" >&2
    kill $$
}
{{prelude}}
{{setup}}

builtin echo "ready pid=$$ clock=wall switches=unknown" >&4
while IFS=' ' read -r -u 3 syscost_n syscost_k || ! syscost_status=0; do
    syscost_reply=
    for ((syscost_batch = 0; syscost_batch < syscost_k; syscost_batch++)); do
        syscost_i=0
        syscost_start=$EPOCHREALTIME
        for ((; syscost_i < syscost_n; )); do
            {{body}}
            ((++syscost_i))
        done
        syscost_end=$EPOCHREALTIME
        syscost_reply+="$(((${syscost_end//[!0-9]/} - ${syscost_start//[!0-9]/}) * 1000)) 0"$'\n'
    done
    builtin echo -n "${syscost_reply}total 0 0 0 0"$'\n' >&4 # one write; printf, or a newline of echo's own, makes more
done
exit "${syscost_status:-1}" # an error in an expansion leaves the loop before the end of input
