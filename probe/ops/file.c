#include "../probe.h"

const struct operation file_operations[] = {
    {0},
};
