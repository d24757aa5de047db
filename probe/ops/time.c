#include "../probe.h"

const struct operation time_operations[] = {
    {0},
};
