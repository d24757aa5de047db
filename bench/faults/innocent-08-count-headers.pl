# Counts the words of up to 900 different header files, each read once.
use strict; use warnings;
my @dirs = ('/usr/include');
my ($files, $words) = (0, 0);
my %count;
while (defined(my $d = shift @dirs)) {
    opendir(my $h, $d) or next;
    for my $name (sort readdir $h) {
        next if $name =~ /^\./ or $files >= 900;
        my $path = "$d/$name";
        if ($name =~ /\.h$/) {
            open(my $f, '<', $path) or next;
            local $/;
            my $text = <$f> // '';
            close $f;
            $count{$_}++ for $text =~ /\w+/g;
            $files++;
        } elsif (-d $path and !-l $path) {
            push @dirs, $path;
        }
    }
}
$words += $_ for values %count;
print $words > $files ? "ok\n" : "none\n";
