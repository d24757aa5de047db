#include "../probe.h"

const struct operation process_operations[] = {
    {0},
};
