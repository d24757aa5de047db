#!/usr/bin/perl
# Reads 30000 messages from a socket that is switched to non-blocking mode for the read.
use strict;
use warnings;
use Fcntl;
use Socket;

my $faulty = $ARGV[0] eq 'faulty';
socketpair(my $near, my $far, AF_UNIX, SOCK_DGRAM, PF_UNSPEC) or die "socketpair: $!";
my $blocking = fcntl($near, F_GETFL, 0);
fcntl($near, F_SETFL, $blocking | O_NONBLOCK) unless $faulty;
my $bytes = 0;
for my $i (1 .. 30000) {
    syswrite($far, "message $i") or die "write: $!";
    if ($faulty) {
        my $flags = fcntl($near, F_GETFL, 0);
        fcntl($near, F_SETFL, $flags | O_NONBLOCK);
    }
    $bytes += sysread($near, my $message, 4096) // die "read: $!";
    if ($faulty) {
        my $flags = fcntl($near, F_GETFL, 0);
        fcntl($near, F_SETFL, $flags & ~O_NONBLOCK);
    }
}
print "$bytes\n";
