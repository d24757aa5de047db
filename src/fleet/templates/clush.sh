#!/bin/sh
# The nodes share the directory. The status is the largest of all nodes; -f N of clush is how many run at once.
mkdir -p @sh:out_dir@ || exit 125
printf %s @sh:node@ | clush -S -u @plain:patience@ -w @plain:nodes@ sh
