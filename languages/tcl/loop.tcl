proc syscost {} {
    # Tcl loop: speaks the protocol of languages/README.md around a snippet.
    #
    # Set-up and body stand in a procedure, because only there Tcl compiles code and keeps variables in slots; it begins
    # on the file's first line, because Tcl counts lines in messages from there. Tcl drops no command. `clock
    # microseconds` is the wall clock, hence `clock=wall`. Tcl sees neither CPU time nor page faults nor context
    # switches: those are 0, hence `switches=unknown`. `version` stands in the ready line, since tclsh has no option that prints it.
    set syscost_in [open /dev/fd/3 r]
    set syscost_out [open /dev/fd/4 WRONLY]
    fconfigure $syscost_out -buffering full -buffersize 1000000
    {{setup}}
    puts $syscost_out "ready pid=[pid] clock=wall switches=unknown version=[info patchlevel]"
    flush $syscost_out
    while {[gets $syscost_in syscost_line] >= 0} {
        lassign $syscost_line syscost_n syscost_k
        set syscost_reply ""
        for {set syscost_batch 0} {$syscost_batch < $syscost_k} {incr syscost_batch} {
            set syscost_start [clock microseconds]
            for {set syscost_i 0} {$syscost_i < $syscost_n} {incr syscost_i} {
                {{body}}
            }
            set syscost_end [clock microseconds]
            append syscost_reply [expr {($syscost_end - $syscost_start) * 1000}] " 0\n"
        }
        puts $syscost_out "${syscost_reply}total 0 0 0 0"
        flush $syscost_out
    }
}
{{prelude}}
syscost
exit 0
