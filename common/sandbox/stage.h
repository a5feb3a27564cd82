/* The folders of a sandbox: gathered by the caller, put up in the child just before bubblewrap. */
#ifndef SANDBOX_STAGE_H
#define SANDBOX_STAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buf.h"
#include "sandbox/sandbox.h"

enum { STAGE_MAX_FILES = 512, STAGE_MAX_BINDS = 32 };
#define STAGE_MAX_BYTES (1ull << 30)

struct stage_file {
	char *name;		/* below its folder, owned */
	bool is_folder, executable;
	struct buf content;
};

struct stage {
	struct stage_file *files;	/* a folder comes before what is in it */
	size_t file_count;
	uint64_t file_bytes;		/* of all of them */
	const char *bind_paths[STAGE_MAX_BINDS];	/* host paths, borrowed; [0] is the libexec folder */
	bool bind_is_folder[STAGE_MAX_BINDS];
	size_t bind_count;
	bool as_root;			/* drop to uid; else stay, and mount in a user namespace */
	uid_t uid, caller_uid;
	gid_t gid, caller_gid;
	pid_t caller;
	char in_options[128], tmp_options[128], out_options[128];	/* of the tmpfs mounts */
	char uid_map[64], gid_map[64];
	char *const *argv;		/* of bubblewrap, borrowed */
	int report_fd;			/* a failure is reported there, as by the supervisor */
};

/* Reads an input into memory, a folder with all in it. 0 or -1 with a sentence. */
int stage_add(struct stage *stage, const struct sandbox_input *input, struct buf *err);
/* As stage_add for the content of a host folder, whose entries get names below `name`. */
int stage_add_path(struct stage *stage, const char *name, const char *path, struct buf *err);
/* A host path to show read-only; skipped when missing. 0 or -1 with a sentence. Borrowed. */
int stage_bind(struct stage *stage, const char *path, struct buf *err);
/* Fills in user ids, sizes and mount options. */
void stage_plan(struct stage *stage, uid_t uid, const struct sandbox_limits *limits);
/* Writes the gathered files below an open folder, as the calling process; async-signal-safe. 0 or -1. */
int stage_write_files(const struct stage *stage, int folder_fd);
/* spawn's `prepare`: in the child, mounts STAGE_FOLDER/{in,tmp,out,b0,b1...}, visible to it alone, drops
 * root, runs argv there and exits as it does. Returns only on failure: -1 after reporting on report_fd. */
int stage_prepare(void *stage);
/* spawn's `prepare` where there are no namespaces: drops root only. */
int stage_drop(void *stage);
void stage_release(struct stage *stage);

#define STAGE_FOLDER "/tmp"

#endif
