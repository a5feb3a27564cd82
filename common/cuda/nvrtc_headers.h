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

#endif
