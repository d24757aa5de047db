# Exports a multiplication table to a file, cell by cell.
use strict; use warnings;
use IO::Handle;
my $tmp = $ENV{TMPDIR} // '/tmp';
my $file = "$tmp/table-$$.csv";
open(my $o, '>', $file) or die $!;
$o->autoflush($ARGV[0] ne 'fixed');
for my $row (1 .. 800) {
    for my $col (1 .. 300) {
        print $o $row * $col, ",";
    }
    print $o "\n";
}
close $o;
print -s $file, "\n";
unlink $file;
