#include "../probe.h"

const struct operation signal_operations[] = {
    {0},
};
