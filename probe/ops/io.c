#include "../probe.h"

const struct operation io_operations[] = {
    {0},
};
