#!/bin/sh
# Builds a small program out of C, assembler, generated and archived parts with make.
d=$(mktemp -d "${TMPDIR:-/tmp}/build-XXXXXX") || exit 1
trap 'rm -rf "$d"' EXIT
cd "$d" || exit 1
printf '%s\n' 'int one(void); int two(void); int three(void); int printf(const char *, ...);
int main(void) { return printf("%d\n", one() + two() + three()) < 0; }' > main.c
echo 'int one(void) { return 1; }' > one.c
printf '.globl two\ntwo: jmp two_c\n.section .note.GNU-stack\n' > two.s
echo 'int two_c(void) { return 2; }' > twoc.c
printf 'main.o: main.c\n\tcc -O1 -c main.c
one.o: one.c\n\tcc -O2 -c one.c
two.o: two.s\n\tas -o two.o two.s
three.c:\n\tawk '"'"'BEGIN { print "int three(void) { return 3; }" }'"'"' > three.c
three.o: three.c\n\tcc -Os -c three.c
lib.a: one.o twoc.o three.o\n\tar rc lib.a one.o twoc.o three.o
prog: main.o two.o lib.a\n\tcc -o prog main.o two.o lib.a\n' > Makefile
make -s prog && ./prog
