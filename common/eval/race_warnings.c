/* Evaluations in, how many races they warn of out: what is said beside PASSED. */
#include <string.h>

#include "eval/evaluation.h"
#include "rec/json.h"

static int
race_warnings(const json_t *evaluation)
{
	const json_t *finding;
	size_t i;
	int count = 0;

	json_array_foreach(json_object_get(evaluation, "findings"), i, finding)
		count += !strcmp(rec_json_string(finding, "check", ""), "racecheck") &&
			!strcmp(rec_json_string(finding, "severity", ""), "warning");
	return count;
}

void
evaluation_race_warnings(const json_t *evaluations, struct buf *out)
{
	const json_t *evaluation;
	size_t i;
	int most = 0;

	json_array_foreach(evaluations, i, evaluation)
		if (race_warnings(evaluation) > most)
			most = race_warnings(evaluation);
	if (most)
		buf_addf(out, ", with %d race warning%s", most, most == 1 ? "" : "s");
}
