# Prices 20000 orders with a discount table kept in a file.
use strict; use warnings;
my $tmp = $ENV{TMPDIR} // '/tmp';
my $file = "$tmp/discounts-$$.conf";
open(my $o, '>', $file) or die $!;
print $o "$_=", $_ % 17, "\n" for 1 .. 20;
close $o;

my %kept;
sub discount {
    my ($customer) = @_;
    return $kept{$customer} if %kept;
    open(my $f, '<', $file) or die $!;
    local $/;
    my %table = map { split /=/ } split /\n/, <$f>;
    close $f;
    %kept = %table if $ARGV[0] eq 'fixed';
    return $table{$customer};
}

my $total = 0;
for my $n (1 .. 20000) {
    my $customer = $n % 20 + 1;
    $total += 100 + $n % 900 - discount($customer);
}
print "$total\n";
unlink $file;
