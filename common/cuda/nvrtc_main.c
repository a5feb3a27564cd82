/* km-nvrtc: a warm NVRTC that answers quick checks, forking for each.
 *
 * In: requests (nvrtc_protocol.h) on standard input; argv TOOLKIT and NVRTC's option for the architecture. Out: answers.
 * The first request for a set of headers makes this process read them and keep them precompiled; a fork finds them at
 * the addresses where they are, and compiles the candidate. Hostile sources make NVRTC hang and abort, so a fork has
 * limits of its own and its end is reported in its place. The whole runs in the sandbox; the library is opened at run
 * time, so that this program starts on any machine. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <nvrtc.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/die.h"
#include "base/io.h"
#include "cuda/nvrtc_headers.h"
#include "cuda/nvrtc_protocol.h"
#include "cuda/nvrtc_source.h"

enum { MAX_HEADERS = 32, MAX_OPTIONS = 12, MAX_SETS = 12, MAX_CHILDREN = 64 };
#define PCH_HEAP_BYTES ((size_t)1 << 30)

static struct {
	nvrtcResult (*create)(nvrtcProgram *, const char *, const char *, int, const char *const *, const char *const *);
	nvrtcResult (*compile)(nvrtcProgram, int, const char *const *);
	nvrtcResult (*log_size)(nvrtcProgram, size_t *);
	nvrtcResult (*log)(nvrtcProgram, char *);
	nvrtcResult (*destroy)(nvrtcProgram *);
	nvrtcResult (*set_heap)(size_t);
} nvrtc;

/* Sets of headers read so far. */
static struct {
	uint32_t headers;
	bool precompiled;
} sets[MAX_SETS];
static int set_count;

static struct {
	pid_t pid;
	int stream;
} children[MAX_CHILDREN];
static int child_count;

static char include_option[512], cccl_option[512];
static const char *architecture_option;

/* ---- the library */

static void
load(const char *toolkit)
{
	static const struct { const char *name; void **place; } symbols[] = {
		{ "nvrtcCreateProgram", (void **)&nvrtc.create }, { "nvrtcCompileProgram", (void **)&nvrtc.compile },
		{ "nvrtcGetProgramLogSize", (void **)&nvrtc.log_size }, { "nvrtcGetProgramLog", (void **)&nvrtc.log },
		{ "nvrtcDestroyProgram", (void **)&nvrtc.destroy }, { "nvrtcSetPCHHeapSize", (void **)&nvrtc.set_heap },
	};
	struct buf path = BUF_INIT;

	buf_addf(&path, "%s/lib64/libnvrtc.so.13", toolkit);
	void *library = dlopen(buf_str(&path), RTLD_NOW);
	if (!library)
		library = dlopen("libnvrtc.so.13", RTLD_NOW);
	if (!library)
		die(NVRTC_EXIT_UNAVAILABLE, "the quick check needs libnvrtc.so.13 of CUDA Toolkit 13: %s", dlerror());
	for (size_t i = 0; i < sizeof symbols / sizeof *symbols; i++)
		if (!(*symbols[i].place = dlsym(library, symbols[i].name)))
			die(NVRTC_EXIT_UNAVAILABLE, "libnvrtc.so.13 lacks %s", symbols[i].name);
	buf_release(&path);
	nvrtc.set_heap(PCH_HEAP_BYTES);
	snprintf(include_option, sizeof include_option, "--include-path=%s/include", toolkit);
	snprintf(cccl_option, sizeof cccl_option, "--include-path=%s/include/cccl", toolkit);
}

/* The program's log, appended, but for the remark on where the headers come from. */
static void
take_log(nvrtcProgram program, struct buf *log)
{
	static const char remark[] = "\"solution.cu\": using precompiled header file ";
	size_t size;

	if (nvrtc.log_size(program, &size) != NVRTC_SUCCESS || size < 2)
		return;
	char *text = xcalloc(1, size + 1);
	if (nvrtc.log(program, text) == NVRTC_SUCCESS) {
		bool remarks = !strncmp(text, remark, sizeof remark - 1);
		buf_adds(log, text + (remarks ? strcspn(text, "\n") : 0));
	}
	free(text);
}

/* Compiles text as far as the front end goes, with one more option (NULL: none). */
static nvrtcResult
compile(const char *text, const char *prelude, const char *option, struct buf *log)
{
	const char *names[MAX_HEADERS + 1], *texts[MAX_HEADERS + 1];
	const char *options[MAX_OPTIONS] = { architecture_option, "--device-as-default-execution-space",
		"--relocatable-device-code=true", "--fdevice-syntax-only", include_option, cccl_option };
	int headers = 0, count = 6;
	nvrtcProgram program;

	for (; headers < nvrtc_header_count && headers < MAX_HEADERS; headers++) {
		names[headers] = nvrtc_headers[headers].name;
		texts[headers] = nvrtc_headers[headers].text;
	}
	names[headers] = "prelude.h";
	texts[headers++] = prelude;
	if (option)
		options[count++] = option;
	nvrtcResult result = nvrtc.create(&program, text, "solution.cu", headers, texts, names);
	if (result != NVRTC_SUCCESS)
		return result;
	result = nvrtc.compile(program, count, options);
	take_log(program, log);
	nvrtc.destroy(&program);
	return result;
}

/* ---- headers read before */

/* What comes before every source: the same text whenever the same headers are wanted. */
static void
add_prefix(uint32_t headers, struct buf *text)
{
	buf_addf(text, "#include \"%s\"\n#include <stdint.h>\n", NVRTC_FIRST_HEADER);
	for (int i = 0; i < nvrtc_known_count; i++)
		if (headers >> i & 1)
			buf_addf(text, "#include <%s>\n", nvrtc_known[i]);
	buf_adds(text, "#pragma nv_hdrstop\n");
}

/* Returned owned. */
static char *
set_option(const char *what, int set)
{
	const char *folder = getenv("TMPDIR");
	struct buf option = BUF_INIT;

	buf_addf(&option, "--%s-pch=%s/headers-%d", what, folder ? folder : "/tmp", set);
	return buf_detach(&option);
}

/* The set's number, or -1 when it is not precompiled. */
static int
precompile(uint32_t headers)
{
	struct buf text = BUF_INIT, log = BUF_INIT;
	int set;

	for (set = 0; set < set_count; set++)
		if (sets[set].headers == headers)
			return sets[set].precompiled ? set : -1;
	if (set == MAX_SETS)
		return -1;
	add_prefix(headers, &text);
	char *option = set_option("create", set);
	sets[set].headers = headers;
	sets[set].precompiled = compile(buf_str(&text), "", option, &log) == NVRTC_SUCCESS;
	set_count++;
	free(option);
	buf_release(&text);
	buf_release(&log);
	return sets[set].precompiled ? set : -1;
}

/* ---- one compile */

static void
answer(int stream, enum nvrtc_state state, int signal, const struct buf *log)
{
	struct nvrtc_answer head = { state, (uint32_t)signal, 0 };

	if (log)
		head.log_bytes = (uint32_t)(log->len < NVRTC_MAX_LOG_BYTES ? log->len : NVRTC_MAX_LOG_BYTES);
	/* Who asked may be gone by now. */
	if (!io_write_fd(stream, &head, sizeof head) && head.log_bytes)
		io_write_fd(stream, log->data, head.log_bytes);
}

static void
limit(const struct nvrtc_request *request)
{
	struct rlimit cpu = { request->wall_ms / 1000 + 1, request->wall_ms / 1000 + 2 };
	struct rlimit memory = { request->memory_bytes, request->memory_bytes };
	struct itimerval clock = { .it_value = { (time_t)(request->wall_ms / 1000), (long)(request->wall_ms % 1000) * 1000 } };

	setrlimit(RLIMIT_CPU, &cpu);
	if (request->memory_bytes)
		setrlimit(RLIMIT_AS, &memory);
	setitimer(ITIMER_REAL, &clock, NULL);
}

/* In the fork: compiles and answers. */
static _Noreturn void
check(const struct nvrtc_request *request, const char *source, const char *prelude, uint32_t headers, int set, int stream)
{
	struct buf text = BUF_INIT, log = BUF_INIT;
	char *option = set < 0 ? NULL : set_option("use", set);

	limit(request);
	add_prefix(headers, &text);
	buf_addf(&text, "#include \"prelude.h\"\n#line 1 \"solution.cu\"\n%s", source);
	nvrtcResult result = compile(buf_str(&text), prelude, option, &log);
	if (result == NVRTC_SUCCESS || result == NVRTC_ERROR_COMPILATION)
		answer(stream, result == NVRTC_SUCCESS ? NVRTC_COMPILES : NVRTC_HAS_ERRORS, 0, &log);
	else
		answer(stream, NVRTC_DIED, 0, NULL);
	_exit(0);	/* the library takes its time to unload */
}

/* Reads one text of the request; it ends with a NUL besides. NULL when the stream ends before it does. */
static char *
read_text(int stream, uint32_t bytes)
{
	char *text = xmalloc((size_t)bytes + 1);

	if (bytes && io_read_fd(stream, text, bytes) != 0) {
		free(text);
		return NULL;
	}
	text[bytes] = 0;
	return text;
}

static void
start_check(const struct nvrtc_request *request, const char *source, const char *prelude, int stream)
{
	uint32_t headers = nvrtc_known_headers(source) | nvrtc_known_headers(prelude);
	int set = precompile(headers);
	pid_t pid = fork();

	if (pid == 0)
		check(request, source, prelude, headers, set, stream);
	if (pid < 0) {
		answer(stream, NVRTC_DIED, 0, NULL);
		close(stream);
		return;
	}
	children[child_count].pid = pid;
	children[child_count++].stream = stream;
}

/* Takes the stream over. */
static void
serve(int stream)
{
	struct nvrtc_request request;
	char *source = NULL, *prelude = NULL;

	if (io_read_fd(stream, &request, sizeof request) == 0 && request.source_bytes <= CUDA_MAX_SOURCE_BYTES &&
	    request.prelude_bytes <= CUDA_MAX_SOURCE_BYTES && (source = read_text(stream, request.source_bytes)))
		prelude = read_text(stream, request.prelude_bytes);
	if (prelude)
		start_check(&request, source, prelude, stream);
	else
		close(stream);
	free(source);
	free(prelude);
}

/* Reports those that ended in another way than by an answer. */
static void
reap(int flags)
{
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, flags)) > 0)
		for (int i = 0; i < child_count; i++)
			if (children[i].pid == pid) {
				if (!WIFEXITED(status) || WEXITSTATUS(status))
					answer(children[i].stream, NVRTC_DIED, WIFSIGNALED(status) ? WTERMSIG(status) : 0, NULL);
				close(children[i].stream);
				children[i] = children[--child_count];
				break;
			}
}

/* The descriptor of the next packet; -1 at the end of requests. */
static int
receive(void)
{
	char byte, control[CMSG_SPACE(sizeof(int))] = { 0 };
	struct iovec part = { &byte, 1 };
	struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control };
	ssize_t got;
	int stream;

	do
		got = recvmsg(0, &message, MSG_CMSG_CLOEXEC);
	while (got < 0 && errno == EINTR);
	struct cmsghdr *head = CMSG_FIRSTHDR(&message);
	if (got <= 0 || !head || head->cmsg_type != SCM_RIGHTS)
		return -1;
	memcpy(&stream, CMSG_DATA(head), sizeof stream);
	return stream;
}

int
main(int argc, char **argv)
{
	sigset_t ended;

	die_program = "km-nvrtc";
	if (argc != 3)
		die(EX_USAGE, "usage: km-nvrtc TOOLKIT --gpu-architecture=compute_NN, with requests on standard input; the quick "
			"check starts it");
	architecture_option = argv[2];
	load(argv[1]);
	signal(SIGPIPE, SIG_IGN);
	sigemptyset(&ended);
	sigaddset(&ended, SIGCHLD);
	sigprocmask(SIG_BLOCK, &ended, NULL);
	int signals = signalfd(-1, &ended, SFD_CLOEXEC | SFD_NONBLOCK);
	precompile(0);
	for (;;) {
		struct pollfd wait[2] = { { child_count < MAX_CHILDREN ? 0 : -1, POLLIN, 0 }, { signals, POLLIN, 0 } };
		struct signalfd_siginfo info;

		if (poll(wait, 2, -1) < 0)
			continue;
		if (wait[1].revents && read(signals, &info, sizeof info) < 0 && errno != EAGAIN)
			die(EX_OSERR, "cannot read signals:");
		reap(WNOHANG);
		if (!wait[0].revents)
			continue;
		int stream = receive();
		if (stream < 0)
			return 0;	/* those at work die with the sandbox */
		serve(stream);
	}
}
