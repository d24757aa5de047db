# Books 120000 entries into a ledger file, keeping its mode and date right.
use strict; use warnings;
my $tmp = $ENV{TMPDIR} // '/tmp';
my $file = "$tmp/ledger-$$";
open(my $o, '>', $file) or die $!;
my $balance = 0;
sub stamp { chmod 0640, $o; utime 1700000000, 1700000000, $o; }
for my $n (1 .. 120000) {
    $balance += $n % 13 - 6;
    print $o "$n $balance\n";
    stamp() if $ARGV[0] eq 'faulty';
}
stamp();
close $o;
printf "%d %o\n", $balance, (stat $file)[2] & 0777;
unlink $file;
