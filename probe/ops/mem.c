#include "../probe.h"

const struct operation mem_operations[] = {
    {0},
};
