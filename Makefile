# Programs, tests, installation. The data DAG is in pipeline.mk.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
MAKEFLAGS += -rR
.SUFFIXES:
.DELETE_ON_ERROR:
.SECONDARY:

# Nothing is probed before the packages are there: when deps is one goal of several, it runs to its end first.
REST := $(filter-out deps,$(MAKECMDGOALS))
ifneq ($(and $(filter deps,$(MAKECMDGOALS)),$(REST)),)
.PHONY: deps $(REST)
deps:
	@$(MAKE) --no-print-directory deps
$(firstword $(REST)): deps
	@$(MAKE) --no-print-directory $(REST)
$(wordlist 2,99,$(REST)): $(firstword $(REST)) ;
else

OUT ?= out
# Where programs are built, whatever OUT is: data of one's own needs no build of its own.
BUILD ?= out
CC := gcc
AR := ar
OPT ?= -O2
CUDA ?= /usr/local/cuda
PREFIX ?= /usr/local
# V=1 shows whole commands. Everything is made under another name and moved into place: a killed make leaves no
# half of a file that counts as made.
Q := $(if $(V),,@)
VERSION := 0.1.0
# The PTX machine's lane loops are vectorised by the compiler; results do not depend on this choice.
PTX_MARCH ?= x86-64-v3
SANITIZE ?=

WARN := -Wall -Wextra -Wshadow -Wmissing-prototypes -Wstrict-prototypes -Wvla $(if $(DEV),-Werror)
CFLAGS := -std=gnu11 $(OPT) -g $(WARN) $(SANITIZE) -ffp-contract=off -pthread -fPIC
CPPFLAGS := -Icommon -D_GNU_SOURCE -include common/base/banned.h
LDFLAGS := $(SANITIZE) -pthread -Wl,--as-needed
LDLIBS := -ljansson -lxxhash -lcrypto -lzstd -lsqlite3 -lcurl -lseccomp -ldl -lm

# Layers: each folder lists what it may use, in link order. tests/lint checks the includes against the same rule.
LIBS_base := base
LIBS_hash := hash base
LIBS_rec := rec hash base
LIBS_zst := zst base
LIBS_tensor := tensor hash base
LIBS_sandbox := sandbox base
L1 := rec zst tensor sandbox hash base
LIBS_store := store $(L1)
LIBS_llm := llm $(L1)
LIBS_math := math $(L1)
LIBS_ptx := ptx $(L1)
LIBS_cuda := cuda $(L1)
L2 := store llm math ptx cuda
LIBS_eval := eval $(L2) $(L1)
LIBS_agent := agent eval $(L2) $(L1)
ALL_LIBS := $(LIBS_agent)

B := $(BUILD)/build
LIBEXEC := $(BUILD)/libexec/kernelmosaic

lib_sources = $(filter-out %_main.c,$(wildcard common/$(1)/*.c))
objects = $(patsubst %.c,$(B)/%.o,$(1))
archives = $(foreach l,$(1),$(B)/lib$(l).a)

PROGRAMS := $(patsubst stages/%/,%,$(sort $(dir $(wildcard stages/*/*.c))))
INTERNAL := $(wildcard common/*/*_main.c)
UNIT := $(wildcard tests/unit/t_*.c)
FUZZ := $(wildcard tests/fuzz/fuzz_*.c)
internal_name = $(LIBEXEC)/km-$(patsubst %_main,%,$(basename $(notdir $(1))))
INTERNAL_PROGRAMS := $(foreach m,$(INTERNAL),$(call internal_name,$(m)))
RECORDER := $(LIBEXEC)/recorder/libcudart.so.13
MACHINE := $(LIBEXEC)/machine/libcudart.so.13
PROFILES := $(patsubst common/cuda/profiles/%,$(LIBEXEC)/profiles/%,$(wildcard common/cuda/profiles/*))

# Objects come before archives, and these in the order in which they use one another.
define link
@mkdir -p $(@D)
@echo '  LD   $@'
$(Q)$(CC) $(LDFLAGS) -o $@.tmp $(filter %.o,$^) $(filter %.a,$^) $(LDLIBS)
$(Q)mv $@.tmp $@
endef

define compile_device
@mkdir -p $(@D)
@echo '  NVCC $<'
$(Q)$(CUDA)/bin/nvcc -std=c++17 -Icommon $(NVCC_FLAGS) -o $@.tmp $<
$(Q)mv $@.tmp $@
endef

.PHONY: all programs
all: programs man
programs: $(PROGRAMS:%=$(BUILD)/bin/km-%) $(INTERNAL_PROGRAMS) $(RECORDER) $(MACHINE) $(PROFILES) \
	$(LIBEXEC)/gpu_kernels.fatbin $(LIBEXEC)/torch_worker.py

$(B)/%.o: %.c Makefile
	@mkdir -p $(@D)
	@echo '  CC   $<'
	$(Q)$(CC) $(CPPFLAGS) $(CPPFLAGS_$(notdir $(patsubst %/,%,$(dir $<)))) $(CFLAGS) $(CFLAGS_$(notdir $(patsubst %/,%,$(dir $<)))) -MMD -MP -MF $(@:.o=.d) -MT $@ -c -o $@.tmp $<
	$(Q)mv $@.tmp $@

CPPFLAGS_base := -DKM_VERSION='"$(VERSION)"'
CPPFLAGS_recorder = $(CPPFLAGS_cuda)
CPPFLAGS_runtime = $(CPPFLAGS_cuda)
CPPFLAGS_cuda := -I$(CUDA)/include -DKM_CUDA='"$(CUDA)"'
CFLAGS_ptx := -O3 -fno-math-errno -march=$(PTX_MARCH)

define archive_rule
$(B)/lib$(1).a: $(call objects,$(call lib_sources,$(1)))
	@rm -f $$@
	$(Q)$$(AR) rcs $$@.tmp $$^
	$(Q)mv $$@.tmp $$@
endef
$(foreach l,$(ALL_LIBS),$(eval $(call archive_rule,$(l))))

define program_rule
$(BUILD)/bin/km-$(1): $(call objects,$(wildcard stages/$(1)/*.c)) $(call archives,$(ALL_LIBS))
	$$(link)
endef
$(foreach p,$(PROGRAMS),$(eval $(call program_rule,$(p))))
$(BUILD)/bin/km-review: LDLIBS += -lncursesw

# The stand-in runtime, with one of two back ends behind it, and no symbol of ours besides the runtime's own. The one
# that records needs libc only; the one that executes has the PTX machine in it.
RUNTIME := $(wildcard common/cuda/runtime/*.c) common/base/occupancy.c
$(RECORDER): $(call objects,$(RUNTIME) $(wildcard common/cuda/recorder/*.c))
$(MACHINE): $(call objects,$(RUNTIME) $(wildcard common/eval/machine/*.c)) $(call archives,ptx cuda $(L1))
$(RECORDER): LDLIBS :=
$(MACHINE): LDLIBS := -lzstd -lm
$(RECORDER) $(MACHINE): LDFLAGS += -shared -Wl,-soname,libcudart.so.13 -Wl,--version-script=common/cuda/runtime/version.map -Wl,-z,defs
$(RECORDER) $(MACHINE): common/cuda/runtime/version.map
	$(link)
$(LIBEXEC)/%.py: common/eval/%.py
	@mkdir -p $(@D)
	$(Q)cp $< $@
$(LIBEXEC)/profiles/%: common/cuda/profiles/%
	@mkdir -p $(@D)
	$(Q)cp $< $@

# The GPU worker's own kernels: machine code of the GPUs that are measured with, and the oldest's PTX for all others.
$(LIBEXEC)/gpu_kernels.fatbin: NVCC_FLAGS := -gencode 'arch=compute_80,code=[sm_80,compute_80]' \
	-gencode arch=compute_89,code=sm_89 -gencode arch=compute_90,code=sm_90 -fatbin
$(LIBEXEC)/gpu_kernels.fatbin: common/cuda/gpu_kernels.cu common/tensor/generate_core.h
	$(compile_device)

folder_of = $(notdir $(patsubst %/,%,$(dir $(1))))
define internal_rule
$(call internal_name,$(1)): $(call objects,$(1)) $(call archives,$(LIBS_$(call folder_of,$(1))))
	$$(link)
endef
$(foreach m,$(INTERNAL),$(eval $(call internal_rule,$(m))))

unit_lib = $(word 2,$(subst _, ,$(basename $(notdir $(1)))))
define unit_rule
$(BUILD)/test/$(basename $(notdir $(1))): $(call objects,$(1)) $(call archives,$(LIBS_$(call unit_lib,$(1))))
	$$(link)
endef
$(foreach t,$(UNIT),$(eval $(call unit_rule,$(t))))
$(UNIT:tests/unit/%.c=$(BUILD)/test/%): LDLIBS += -lcmocka

# The generator's kernels, for the PTX machine.
$(BUILD)/test/generate.ptx: NVCC_FLAGS := -arch=compute_90 -ptx
$(BUILD)/test/generate.ptx: common/tensor/generate.cu common/tensor/generate_core.h
	$(compile_device)
$(BUILD)/test/t_ptx_generate: | $(BUILD)/test/generate.ptx

define fuzz_rule
$(BUILD)/test/$(basename $(notdir $(1))): $(call objects,$(1) tests/fuzz/replay.c) $(call archives,$(LIBS_$(call unit_lib,$(1))))
	$$(link)
$(BUILD)/fuzz/$(basename $(notdir $(1))): $(1) $(wildcard $(foreach l,$(LIBS_$(call unit_lib,$(1))),$(filter-out %_main.c,$(wildcard common/$(l)/*.c))))
	@mkdir -p $$(@D)
	clang $$(CPPFLAGS) $$(CPPFLAGS_base) $$(CPPFLAGS_cuda) -std=gnu11 -O1 -g -mavx2 -mfma -mf16c -pthread -fsanitize=fuzzer,address,undefined -o $$@ $$^ $$(LDLIBS)
endef
$(foreach t,$(FUZZ),$(eval $(call fuzz_rule,$(t))))

# ---- probes: what an H200 answers for every row of the instruction table, and that the PTX machine answers the same
PROBES := $(call objects,$(filter-out %/coverage.c %/collect.c,$(wildcard tests/gpu/coverage/*.c)))
$(BUILD)/test/t_ptx_h200: $(PROBES)
$(BUILD)/test/coverage: $(call objects,tests/gpu/coverage/coverage.c) $(PROBES) $(call archives,$(LIBS_ptx))
	$(link)
$(BUILD)/test/collect: tests/gpu/coverage/collect.c
	@mkdir -p $(@D)
	$(Q)$(CC) -D_GNU_SOURCE $(CFLAGS) -o $@.tmp $< -ldl
	$(Q)mv $@.tmp $@
.PHONY: coverage
coverage: $(BUILD)/test/t_ptx_h200 ## count the rows of the instruction table that an H200 has confirmed
	$<

# ---- man pages: the source's @OPTIONS@ line is replaced by what the program's table prints
MAN := $(PROGRAMS:%=$(BUILD)/man/km-%.1)
.PHONY: man
man: $(MAN)
define man_rule
$(BUILD)/man/km-$(1).1: stages/$(1)/km-$(1).1 $(BUILD)/bin/km-$(1)
	@mkdir -p $$(@D)
	$(Q)$(BUILD)/bin/km-$(1) --man-options >$$@.options
	$(Q)sed -e '/^@OPTIONS@$$$$/{r $$@.options' -e 'd;}' $$< >$$@.tmp
	$(Q)rm $$@.options
	$(Q)mv $$@.tmp $$@
endef
$(foreach p,$(PROGRAMS),$(eval $(call man_rule,$(p))))

# ---- tests
TEST_PROGRAMS := $(UNIT:tests/unit/%.c=$(BUILD)/test/%) $(FUZZ:tests/fuzz/%.c=$(BUILD)/test/%)
.PHONY: test test-unit test-cli test-long lint fuzz bench test-sanitized
test: lint test-unit test-cli ## run the tests
test-unit: $(if $(SANITIZE),,programs) $(TEST_PROGRAMS)
	KM_OUT=$(abspath $(BUILD)) CUDA=$(CUDA) CMOCKA_MESSAGE_OUTPUT=TAP prove --comments --timer -j2 -e '' $(UNIT:tests/unit/%.c=$(BUILD)/test/%)
	for f in $(FUZZ:tests/fuzz/%.c=%); do $(BUILD)/test/$$f tests/fuzz/corpus/$${f#fuzz_}; done
test-cli: programs man
	KM_OUT=$(abspath $(BUILD)) CUDA=$(CUDA) prove --comments --timer -j2 -e 'bats --tap' $(sort $(wildcard tests/cli/*.bats tests/tui/*.bats tests/dag/*.bats))
test-long: programs ## run the long tests as well: all seeds, shards, kills
	KM_OUT=$(abspath $(BUILD)) CUDA=$(CUDA) prove --comments --timer -v -e 'bats --tap' $(sort $(wildcard tests/long/*.bats))
lint: man ## check layers, man pages and lengths
	KM_OUT=$(abspath $(BUILD)) CUDA=$(CUDA) prove --comments --timer -e 'bash' $(sort $(wildcard tests/lint/*.sh))
# Left out are the programs that the tests start: they run confined, where limits leave no room for a sanitizer's
# memory, and the stand-in runtime is loaded below another's code.
test-sanitized: programs ## run the unit tests and fuzz replays, but not the programs they start, under ASan and UBSan
	@mkdir -p $(BUILD)/sanitized
	ln -sfn ../bin ../libexec $(BUILD)/sanitized/
	$(MAKE) BUILD=$(BUILD)/sanitized OPT=-O1 \
		SANITIZE='-fsanitize=address,undefined -fno-sanitize-recover=undefined' test-unit
# A driver that runs a few known kernels on the host, so that the supervisor is tested without a GPU.
STANDIN := $(BUILD)/test/libcuda-standin.so
$(STANDIN): tests/gpu/standin.c
	@mkdir -p $(@D)
	@echo '  LD   $@'
	$(Q)$(CC) $(CPPFLAGS) $(CPPFLAGS_cuda) $(filter-out $(SANITIZE),$(CFLAGS)) -shared -o $@.tmp $<
	$(Q)mv $@.tmp $@
test-unit: $(STANDIN)
GPU_TESTS := $(filter-out %/standin.c,$(wildcard tests/gpu/*.c))
define gpu_rule
$(BUILD)/gpu/$(basename $(notdir $(1))): $(call objects,$(1)) $(call archives,$(ALL_LIBS))
	$$(link)
endef
$(foreach t,$(GPU_TESTS),$(eval $(call gpu_rule,$(t))))
.PHONY: test-gpu
test-gpu: programs $(GPU_TESTS:tests/gpu/%.c=$(BUILD)/gpu/%) ## run the tests that need a GPU; exit 69 without one
	@KM_OUT=$(abspath $(BUILD)) CUDA=$(CUDA) bash tests/gpu/run.sh

fuzz: $(FUZZ:tests/fuzz/%.c=$(BUILD)/fuzz/%) ## fuzz each parser for FUZZ_SECONDS
	for f in $^; do mkdir -p $(BUILD)/fuzz/corpus/$${f##*/fuzz_}; \
		$$f -max_total_time=$(FUZZ_SECONDS) -print_final_stats=1 $(BUILD)/fuzz/corpus/$${f##*/fuzz_} tests/fuzz/corpus/$${f##*/fuzz_}; done
FUZZ_SECONDS ?= 60

# Each benchmark prints ratios of one run: ours against the same work in plain C, or against a library.
BENCH := $(wildcard tests/bench/*_bench.c)
define bench_rule
$(BUILD)/bench/$(basename $(notdir $(1))): $(call objects,$(1)) $(call archives,$(LIBS_$(firstword $(subst _, ,$(notdir $(1))))))
	$$(link)
endef
$(foreach t,$(BENCH),$(eval $(call bench_rule,$(t))))
$(BUILD)/bench/%.ptx: NVCC_FLAGS := -arch=compute_90 -lineinfo -ptx
$(BUILD)/bench/%.ptx: tests/bench/%.cu
	$(compile_device)
bench: programs $(BENCH:tests/bench/%.c=$(BUILD)/bench/%) $(patsubst tests/bench/%.cu,$(BUILD)/bench/%.ptx,$(wildcard tests/bench/*.cu)) ## measure our code beside plain C or a library, as ratios in one run
	for b in $(BENCH:tests/bench/%.c=%); do $(BUILD)/bench/$$b $(BUILD)/bench; done

# Against numba's CUDA simulator, in an environment of its own unless NUMBA_PYTHON is one that has numba.
NUMBA_PYTHON ?= $(BUILD)/bench/numba/bin/python3
$(BUILD)/bench/numba/bin/python3:
	@mkdir -p $(@D)
	python3 -m venv $(BUILD)/bench/numba
	$(BUILD)/bench/numba/bin/pip install -q numba || { \
		echo 'bring numba (https://pypi.org/project/numba/) and name a Python that has it: make bench-numba NUMBA_PYTHON=PYTHON' >&2; exit 69; }
.PHONY: bench-numba bench-llmc bench-decode
bench-numba: $(NUMBA_PYTHON) $(BUILD)/bench/ptx_bench $(BUILD)/bench/ptx_bench.ptx ## measure the PTX machine beside numba's CUDA simulator (from PyPI)
	$< tests/bench/numba_simulator.py $(BUILD)/bench/ptx_bench $(BUILD)/bench

# With other people's sources, which are not part of this repository: the scripts say what to bring.
LLMC ?= llm.c
CORPUS ?= cuda-samples
bench-llmc: programs ## run the self-checking programs of LLMC, a clone of llm.c, on the PTX machine
	KM_OUT=$(abspath $(BUILD)) CUDA=$(CUDA) bash tests/bench/llmc.sh $(LLMC)/dev/cuda
bench-decode: programs ## count the kernels below CORPUS, a folder of CUDA sources, that the PTX machine decodes
	KM_OUT=$(abspath $(BUILD)) PATH=$$PATH:$(CUDA)/bin bash tests/bench/decode-corpus.sh $(CORPUS)

# The roofline model against an H200: the work that the PTX machine counts, and times seen on that GPU, which
# roofline_gpu prints where there is one (tests/data/roofline/h200.jsonl is its output).
ROOFLINE := memory rows compute tiles
ROOFLINE_TIMES := tests/data/roofline/h200.jsonl
CPPFLAGS_roofline = -Itests/bench $(CPPFLAGS_cuda)
$(BUILD)/bench/roofline/roofline: $(call objects,tests/bench/roofline/roofline.c tests/bench/roofline/launches.c) $(call archives,$(LIBS_ptx))
	$(link)
$(BUILD)/bench/roofline/roofline_gpu: $(call objects,tests/bench/roofline/gpu.c tests/bench/roofline/launches.c) $(call archives,$(LIBS_cuda))
	$(link)
$(BUILD)/bench/roofline/%.cubin: NVCC_FLAGS := -arch=sm_90 -lineinfo -cubin
$(BUILD)/bench/roofline/%.cubin: tests/bench/roofline/%.cu
	$(compile_device)
$(BUILD)/bench/roofline/work.jsonl: $(BUILD)/bench/roofline/roofline $(ROOFLINE:%=$(BUILD)/bench/roofline/%.ptx) $(ROOFLINE_TIMES)
	@echo '  COUNT $@'
	$(Q)$< count $(@D) $(ROOFLINE_TIMES) >$@.tmp
	$(Q)mv $@.tmp $@
.PHONY: roofline roofline-gpu
roofline: $(BUILD)/bench/roofline/work.jsonl ## judge the estimated times against those of an H200
	$(BUILD)/bench/roofline/roofline judge $< $(ROOFLINE_TIMES)
roofline-gpu: $(BUILD)/bench/roofline/roofline_gpu $(ROOFLINE:%=$(BUILD)/bench/roofline/%.cubin) ## time the roofline's kernels on the GPU here
	$< $(<D)

.PHONY: schemas
schemas: $(LIBEXEC)/km-schema ## write schemas/ anew from the record table
	for name in $$($<); do $< $$name >schemas/$$name.json.tmp; mv schemas/$$name.json.tmp schemas/$$name.json; done

.PHONY: install clean distclean help deps layers
layers:
	@$(foreach l,$(ALL_LIBS),echo '$(l) $(LIBS_$(l))';)
install: all ## install programs and man pages below PREFIX
	install -d $(DESTDIR)$(PREFIX)/bin $(DESTDIR)$(PREFIX)/share/man/man1 $(DESTDIR)$(PREFIX)/libexec
	install -m 755 $(PROGRAMS:%=$(BUILD)/bin/km-%) $(DESTDIR)$(PREFIX)/bin
	install -m 644 $(MAN) $(DESTDIR)$(PREFIX)/share/man/man1
	cp -r $(BUILD)/libexec/kernelmosaic $(DESTDIR)$(PREFIX)/libexec
clean: ## remove what was built and generated, but not the work store
	find $(OUT) -mindepth 1 -maxdepth 1 ! -name store -exec rm -rf {} + 2>/dev/null || true
distclean: ## remove everything generated, the work store too
	rm -rf $(OUT)
help: ## show the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sort | awk -F ':.*## ' '{ printf "  %-16s %s\n", $$1, $$2 }'

DEBIAN := build-essential clang libjansson-dev libxxhash-dev libssl-dev libzstd-dev zstd libsqlite3-dev sqlite3 \
	libcurl4-openssl-dev libseccomp-dev bubblewrap libncurses-dev libcmocka-dev bats mandoc tmux python3 pkg-config python3-torch
deps: ## install the Debian packages (as root or by sudo -n)
	@s=$$(date +%s); \
	missing=$$(for p in $(DEBIAN); do dpkg-query -W -f '$${db:Status-Status}' $$p 2>/dev/null | grep -q '^installed$$' || echo $$p; done); \
	if [ -n "$$missing" ]; then \
		run=; [ "$$(id -u)" = 0 ] || run='sudo -n'; \
		$$run apt-get update -qq && DEBIAN_FRONTEND=noninteractive $$run apt-get install -y -qq --no-install-recommends $$missing >/dev/null; \
	fi; \
	echo "deps: $$(( $$(date +%s) - s )) s, installed: $${missing:-nothing was missing}" | tr '\n' ' '; echo

include pipeline.mk
-include $(shell find $(B) -name '*.d' 2>/dev/null)

endif
