PATH=/nosuch:/neither:/usr/bin:/bin
[ -e /.syscost/begin/search ]
no-such-program 2>/dev/null
true | cat
(exit 3)
[ -e /.syscost/end/search ]
(
    [ -e /.syscost/begin/child ]
    cat /dev/null
    [ -e /.syscost/end/child ]
)
:
