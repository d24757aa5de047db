# Loads 150 plugins through a module path with 301 entries, most of them for other set-ups.
use strict; use warnings;
my $tmp = ($ENV{TMPDIR} // '/tmp') . "/plugins-$$";
mkdir $tmp or die $!;
my $home = "$tmp/plugins";
mkdir $home or die $!;
my @dirs = ((map { "$tmp/site$_/plugins" } 1 .. 300), $home);
for my $n (1 .. 150) {
    open(my $o, '>', "$home/Plug$n.pm") or die $!;
    print $o "package Plug$n; sub value { $n } 1;\n";
    close $o;
}
@dirs = grep { -d } @dirs if $ARGV[0] eq 'fixed';
@INC = (@dirs, @INC);
my $sum = 0;
for my $n (1 .. 150) {
    require "Plug$n.pm";
    $sum += "Plug$n"->value;
}
print "$sum\n";
unlink glob("$home/*");
rmdir $_ for $home, $tmp;
