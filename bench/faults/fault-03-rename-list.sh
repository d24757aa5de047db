#!/bin/sh
# Prints the new name of each of 150 files in a list.
i=0
while [ $i -lt 150 ]; do
    path=/srv/photos/2024/holiday-$i.jpeg
    if [ "$1" = fixed ]; then
        dir=${path%/*} base=${path##*/} base=${base%.jpeg}
    else
        dir=$(dirname "$path")
        base=$(basename "$path" .jpeg)
    fi
    echo "$dir/$base.jpg"
    i=$((i + 1))
done | sort | tail -n 1
