// A public or generated solution as a program: nvcc -DSOLUTION='"its.cu"' solution.cu; run as PROGRAM DUMP.
#include "harness.h"
#include SOLUTION

int
main(int argc, char **argv)
{
	return argc == 2 ? harness::drive(solve, argv[1]) : 64;
}
