#!/bin/sh
# Reads 60 lines "key: value" and prints the keys in capitals and the values without blanks.
lines() {
    i=0
    while [ $i -lt 60 ]; do
        echo "x-header-$i:   value $i"
        i=$((i + 1))
    done
}
if [ "$1" = fixed ]; then
    lines | awk -F: '{ gsub(/ /, "", $2); print toupper($1) "=" $2 }'
else
    lines | while read -r line; do
        key=$(echo "$line" | cut -d: -f1 | tr a-z A-Z)
        value=$(echo "$line" | cut -d: -f2 | tr -d ' ')
        echo "$key=$value"
    done
fi | tail -n 1
