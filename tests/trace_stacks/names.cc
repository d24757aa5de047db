// Calls getppid from a function whose name is mangled.
#include <unistd.h>

namespace app {
struct Asker {
	template <class T> __attribute__((noinline, noclone)) T ask(T sum) { return sum + getppid(); }
};
}

int main()
{
	volatile long sum = 0;
	for (int i = 0; i < 20; i++) sum = app::Asker().ask<long>(sum);
	return 0;
}
