# Runs 24 tests, each in a process of its own because some of them crash.
use strict; use warnings;
my ($passed, $crashed) = (0, 0);
for my $test (1 .. 24) {
    my $pid = fork();
    if ($pid == 0) {
        my $x = $test;
        $x = ($x * 48271 + 11) % 2147483647 for 1 .. 150000;
        kill 'KILL', $$ if $test % 6 == 0;
        require POSIX;
        POSIX::_exit($x > 0 ? 0 : 1);
    }
    waitpid $pid, 0;
    $passed++ if $? == 0;
    $crashed++ if $? & 127;
}
print "$passed passed, $crashed crashed\n";
