#include "../probe.h"

const struct operation dir_operations[] = {
    {0},
};
