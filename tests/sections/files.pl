sub mark { -e "/.syscost/$_[0]/$_[1]" }
for my $n (1 .. 5) {
    mark("begin", "write");
    open my $file, ">", "made-$n" or die;
    print $file "x" x 100;
    close $file;
    mark("end", "write");
    mark("begin", "remove");
    unlink "made-$n";
    unlink "never-made";
    mark("end", "remove/2");
}
