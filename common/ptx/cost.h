/* What a PTX instruction costs on a GPU: the machine instructions it becomes, by execution unit, and how long its result
 * takes. A table by opcode and type; not for other folders. */
#ifndef PTX_COST_H
#define PTX_COST_H

#include "ptx/machine.h"
#include "ptx/roofline.h"

struct cost {
	uint8_t mix;				/* enum roofline_mix */
	uint8_t pipe, tensor;			/* enum roofline_pipe, roofline_tensor; their N: none */
	float slots;				/* machine instructions that are issued */
	float units;				/* of these, on the pipe */
	float latency;				/* cycles until the result, for loads when they hit nothing slower */
	float multiply_adds;			/* of a tensor instruction */
	bool waits_for_memory;			/* the latency is that of the level where the request ends */
};
struct cost cost_of(const struct machine_core *core, uint32_t place);
/* Does a load skip the L1 cache? */
bool cost_past_l1(const struct machine_core *core, uint32_t place);

/* When the registers of a warp are ready, by frame offset. */
struct cost_ready;
struct cost_ready *cost_ready_new(const struct machine_core *core);
void cost_ready_free(struct cost_ready *ready);
void cost_ready_reset(struct cost_ready *ready);
/* Latest time at which a source of the instruction is ready. */
double cost_ready_at(const struct cost_ready *ready, const struct machine_core *core, uint32_t place);
void cost_ready_set(struct cost_ready *ready, const struct machine_core *core, uint32_t place, double when);

#endif
