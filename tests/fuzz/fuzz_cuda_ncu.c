/* A table of Nsight Compute, whose kernels a stranger named. */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>

#include "cuda/ncu.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count);

int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count)
{
	static struct ncu_report report;
	struct buf err = BUF_INIT;
	int status = ncu_read((const char *)bytes, count, &report, &err);

	if (report.launches > NCU_MAX_LAUNCHES || (status != 0) != (err.len != 0))
		abort();
	for (uint32_t i = 0; status == 0 && i < report.launches; i++)
		for (int k = 0; k < NCU_METRICS; k++) {
			double value = report.launch[i].value[k];

			if (!isnan(value) && !(value >= 0 && value < 1e15))
				abort();
		}
	buf_release(&err);
	return 0;
}
