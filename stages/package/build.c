/* Statistics of earlier stages come in, a record of versions and commands goes out. What differs from run to
 * run is in here and nowhere else in the release. */
#include "build.h"

#include <glob.h>
#include <sys/utsname.h>
#include <time.h>

#include "base/footer.h"
#include "base/opt.h"
#include "rec/case.h"
#include "rec/json.h"
#include "rec/schema.h"
#include "zst/zst.h"

enum { MAX_STATS_BYTES = 1 << 20 };

static json_t *
load_stats(const char *path, struct buf *err)
{
	json_t *stats = rec_json_load_file(path, MAX_STATS_BYTES, err);

	if (stats && rec_schema_check("stats", stats, err) < 0) {
		json_decref(stats);
		return NULL;
	}
	return stats;
}

json_t *
build_stages(const char *folder, struct buf *err)
{
	static const char *const names[] = { "ingest", "dedupe", "diversify", "review" };
	json_t *list = json_array();

	for (size_t i = 0; folder && i < sizeof names / sizeof *names; i++) {
		struct buf path = BUF_INIT;
		json_t *stats;
		glob_t found;

		buf_addf(&path, "%s/%s.stats.json", folder, names[i]);
		if (glob(path.data, 0, NULL, &found) == 0) {
			stats = load_stats(path.data, err);
			globfree(&found);
			if (!stats) {
				json_decref(list);
				buf_release(&path);
				return NULL;
			}
			json_array_append_new(list, stats);
		}
		buf_release(&path);
	}
	return list;
}

static json_t *
all_stats(const char *folder)
{
	struct buf pattern = BUF_INIT, err = BUF_INIT;
	json_t *list = json_array();
	glob_t found;

	buf_addf(&pattern, "%s/*.stats.json", folder ? folder : "");
	if (folder && glob(pattern.data, 0, NULL, &found) == 0) {
		for (size_t i = 0; i < found.gl_pathc; i++) {
			json_t *stats = load_stats(found.gl_pathv[i], &err);

			if (stats)
				json_array_append_new(list, stats);
		}
		globfree(&found);
	}
	buf_release(&pattern);
	buf_release(&err);
	return list;
}

/* The toolkit that nvcc of this machine says it is; null where there is none. */
static json_t *
cuda_version(void)
{
	json_t *file = rec_json_load_file("/usr/local/cuda/version.json", MAX_STATS_BYTES, NULL);
	const char *version = rec_json_string(json_object_get(file, "cuda"), "version", NULL);
	json_t *value = version ? json_string(version) : json_null();

	json_decref(file);
	return value;
}

json_t *
build_record(const char *folder)
{
	struct utsname machine;
	char now[32];
	time_t seconds = time(NULL);
	struct tm utc;

	gmtime_r(&seconds, &utc);
	strftime(now, sizeof now, "%Y-%m-%dT%H:%M:%SZ", &utc);
	uname(&machine);
	return json_pack("{s:s, s:s, s:{s:s, s:s, s:s, s:s, s:o, s:s++, s:s}, s:o, s:o}", "schema_version",
		REC_SCHEMA_VERSION,
		"time", now, "versions", "kernelmosaic", opt_version, "compiler", __VERSION__, "jansson",
		JANSSON_VERSION, "zstd",
		zst_version(), "cuda", cuda_version(), "kernel", machine.sysname, " ", machine.release,
		"machine", machine.machine,
		"command", rec_json_text(footer_command(), strlen(footer_command())), "stages",
		all_stats(folder));
}
