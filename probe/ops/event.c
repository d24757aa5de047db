#include "../probe.h"

const struct operation event_operations[] = {
    {0},
};
