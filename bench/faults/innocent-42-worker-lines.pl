#!/usr/bin/perl
# Reads 300 results of a worker process, each as soon as it is there.
use strict;
use warnings;

my $pid = open(my $results, '-|') // die "fork: $!";
if (!$pid) {
    $| = 1;
    for my $number (1 .. 300) {
        my $x = $number;
        $x = ($x * 1103515245 + 12345) % 2147483648 for 1 .. 8000;
        print "result $number $x\n";
    }
    exit 0;
}
my ($last, $sum) = (0, 0);
while (my $line = <$results>) {
    my (undef, $number, $x) = split ' ', $line;
    die "out of order" if $number != ++$last;
    $sum = ($sum + $x) % 1000003;
}
close $results;
print "$sum\n";
