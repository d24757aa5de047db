#include "../probe.h"

const struct operation socket_operations[] = {
    {0},
};
