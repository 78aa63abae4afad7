#include "common.h"

int main(void)
{
    int major, minor, patch;
    const char *words = mdb_version(&major, &minor, &patch);
    printf("%s %d.%d.%d\n", words, major, minor, patch);
    return 0;
}
