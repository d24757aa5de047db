# Follows a growing log like tail -f while another process appends a line now and then.
use strict; use warnings;
my $tmp = $ENV{TMPDIR} // '/tmp';
my $file = "$tmp/follow-$$.log";
open(my $w, '>>', $file) or die $!;
my $writer = fork();
if ($writer == 0) {
    for my $n (1 .. 25) {
        select(undef, undef, undef, 0.02);
        syswrite $w, "line $n of the log\n";
    }
    syswrite $w, "end\n";
    require POSIX;
    POSIX::_exit(0);
}
open(my $r, '<', $file) or die $!;
my ($text, $lines) = ('', 0);
until ($text =~ /^end$/m) {
    my $got = sysread $r, my $part, 65536;
    if ($got) { $text .= $part; $lines += ($part =~ tr/\n//); }
    else { select(undef, undef, undef, 0.01); }
}
waitpid $writer, 0;
print "$lines\n";
unlink $file;
