#include "../probe.h"

const struct operation fd_operations[] = {
    {0},
};
