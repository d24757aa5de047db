# Perl loop: speaks the protocol of languages/README.md around a snippet.
#
# The body runs in void context, as core Benchmark.pm runs it: perl removes only constants there. No strict or
# warnings, so that a snippet means what it means to `perl -e`; the loop's own names begin with syscost_.
# clock_gettime returns floating-point seconds: its step is 2 ns at 100 days of uptime. times() counts clock ticks
# (usually 10 ms). Core Perl has no page faults or context switches: they are 0, hence `switches=unknown`.
use Time::HiRes ();
{{prelude}}

my $syscost_clock = Time::HiRes::CLOCK_MONOTONIC();
open my $syscost_in,  '<&=', 3 or die "descriptor 3: $!\n";
open my $syscost_out, '>&=', 4 or die "descriptor 4: $!\n";
{{setup}}

# syswrite and a line ending of our own, so that a snippet may change $, $\ and $/.
syswrite $syscost_out, "ready pid=$$ switches=unknown\n";
while (defined(my $syscost_line = do { local $/ = "\n"; readline $syscost_in })) {
    my ($syscost_n, $syscost_k) = split ' ', $syscost_line;
    my $syscost_reply = '';
    my ($syscost_user, $syscost_system) = times;
    for my $syscost_batch (1 .. $syscost_k) {
        my $syscost_start = Time::HiRes::clock_gettime($syscost_clock);
        for my $syscost_i (1 .. $syscost_n) {
            {{body}}
        }
        my $syscost_end = Time::HiRes::clock_gettime($syscost_clock);
        $syscost_reply .= sprintf "%.0f 0\n", ($syscost_end - $syscost_start) * 1e9;
    }
    my ($syscost_user_end, $syscost_system_end) = times;
    $syscost_reply .= sprintf "total %.0f %.0f 0 0\n", ($syscost_user_end - $syscost_user) * 1e9,
        ($syscost_system_end - $syscost_system) * 1e9;
    syswrite $syscost_out, $syscost_reply;
}
