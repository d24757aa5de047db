#include "../probe.h"

const struct operation sync_operations[] = {
    {0},
};
