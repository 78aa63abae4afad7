/*
 * What the programs that time workloads share. Each workload prints a line with its name, the
 * number of operations, and nanoseconds for each.
 */
#ifndef TEAK_WORKS_H
#define TEAK_WORKS_H

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static void expect(uint64_t found, uint64_t wanted, const char *what) {
    if (found != wanted) {
        fprintf(stderr, "%s: %" PRIu64 " instead of %" PRIu64 "\n", what, found, wanted);
        exit(1);
    }
}

static uint64_t now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

static void tell(const char *work, uint64_t count, uint64_t begin) {
    double each = (double)(now() - begin) / (double)count;
    printf("%s %" PRIu64 " %.2f\n", work, count, each);
    fflush(stdout);
}

/* The generator of Steele, Lea and Flood (SplitMix64): maps each number to a different one. */
static uint64_t mixed(uint64_t number) {
    number += 0x9e3779b97f4a7c15u;
    number = (number ^ (number >> 30)) * 0xbf58476d1ce4e5b9u;
    number = (number ^ (number >> 27)) * 0x94d049bb133111ebu;
    return number ^ (number >> 31);
}

#endif
