/* tiny.c: the smallest program that execve can start; built once statically and once dynamically linked. */
int main(void) { return 0; }
