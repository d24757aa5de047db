for round in 1 2 3; do
    [ -e /.syscost/begin/read ]
    read -r line </etc/passwd
    [ -e /.syscost/end/read ]
done
[ -e /.syscost/begin/a/b/7 ]
[ -e / ]
[ -e /.syscost/end/a/b/7 ]
[ -e /.syscost/begin/a/b ]
[ -e / ]
[ -e /.syscost/end/a/b/20 ]
:
