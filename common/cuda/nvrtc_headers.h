/* Headers that NVRTC lacks, as text: enough of the C library for sources that include it for form's sake. */
#ifndef CUDA_NVRTC_HEADERS_H
#define CUDA_NVRTC_HEADERS_H

struct nvrtc_header {
	const char *name, *text;
};
extern const struct nvrtc_header nvrtc_headers[];
extern const int nvrtc_header_count;
/* The one that is included first. */
#define NVRTC_FIRST_HEADER "kernelmosaic_rtc.h"

/* Headers of the toolkit that sources include for a kernel's sake: the server reads each set of them once. */
extern const char *const nvrtc_known[];
extern const int nvrtc_known_count;	/* at most 32 */

#endif
