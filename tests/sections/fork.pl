sub mark { -e "/.syscost/$_[0]/$_[1]" }
mark("begin", "parent");
for my $child (1 .. 3) {
    my $pid = fork;
    if (!$pid) {
        mark("begin", "child");
        -e "/etc" for 1 .. $child;
        mark("end", "child");
        exec "/nosuch" or exec "/bin/true";
    }
    waitpid $pid, 0;
}
mark("end", "parent");
-e "/";
