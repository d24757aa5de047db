#include "../probe.h"

const struct operation ipc_operations[] = {
    {0},
};
