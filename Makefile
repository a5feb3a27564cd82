# Programs, tests, installation. The data DAG is in pipeline.mk.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
MAKEFLAGS += -rR
.SUFFIXES:
.DELETE_ON_ERROR:
.SECONDARY:

OUT ?= out
CC := gcc
AR := ar
OPT ?= -O2
CUDA ?= /usr/local/cuda
PREFIX ?= /usr/local
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

B := $(OUT)/build
LIBEXEC := $(OUT)/libexec/kernelmosaic

lib_sources = $(filter-out %_main.c,$(wildcard common/$(1)/*.c))
objects = $(patsubst %.c,$(B)/%.o,$(1))
archives = $(foreach l,$(1),$(B)/lib$(l).a)

PROGRAMS := $(patsubst stages/%/,%,$(sort $(dir $(wildcard stages/*/*.c))))
INTERNAL := $(wildcard common/*/*_main.c)
UNIT := $(wildcard tests/unit/t_*.c)
FUZZ := $(wildcard tests/fuzz/fuzz_*.c)
internal_name = $(LIBEXEC)/km-$(patsubst %_main,%,$(basename $(notdir $(1))))
INTERNAL_PROGRAMS := $(foreach m,$(INTERNAL),$(call internal_name,$(m)))

.PHONY: all programs
all: programs man
programs: $(PROGRAMS:%=$(OUT)/bin/km-%) $(INTERNAL_PROGRAMS)

$(B)/%.o: %.c Makefile
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(CPPFLAGS_$(notdir $(patsubst %/,%,$(dir $<)))) $(CFLAGS) $(CFLAGS_$(notdir $(patsubst %/,%,$(dir $<)))) -MMD -MP -c -o $@ $<

CPPFLAGS_base := -DKM_VERSION='"$(VERSION)"'
CPPFLAGS_cuda := -I$(CUDA)/include -DKM_CUDA='"$(CUDA)"'
CFLAGS_ptx := -O3 -march=$(PTX_MARCH)

define archive_rule
$(B)/lib$(1).a: $(call objects,$(call lib_sources,$(1)))
	@rm -f $$@
	$$(AR) rcs $$@ $$^
endef
$(foreach l,$(ALL_LIBS),$(eval $(call archive_rule,$(l))))

define program_rule
$(OUT)/bin/km-$(1): $(call objects,$(wildcard stages/$(1)/*.c)) $(call archives,$(ALL_LIBS))
	@mkdir -p $$(@D)
	$$(CC) $$(LDFLAGS) -o $$@ $$^ $$(LDLIBS) $$(LDLIBS_$(1))
endef
LDLIBS_review := -lncursesw
$(foreach p,$(PROGRAMS),$(eval $(call program_rule,$(p))))

folder_of = $(notdir $(patsubst %/,%,$(dir $(1))))
define internal_rule
$(call internal_name,$(1)): $(call objects,$(1)) $(call archives,$(LIBS_$(call folder_of,$(1))))
	@mkdir -p $$(@D)
	$$(CC) $$(LDFLAGS) -o $$@ $$^ $$(LDLIBS)
endef
$(foreach m,$(INTERNAL),$(eval $(call internal_rule,$(m))))

unit_lib = $(word 2,$(subst _, ,$(basename $(notdir $(1)))))
define unit_rule
$(OUT)/test/$(basename $(notdir $(1))): $(call objects,$(1)) $(call archives,$(LIBS_$(call unit_lib,$(1))))
	@mkdir -p $$(@D)
	$$(CC) $$(LDFLAGS) -o $$@ $$^ -lcmocka $$(LDLIBS)
endef
$(foreach t,$(UNIT),$(eval $(call unit_rule,$(t))))

-include pipeline.mk
-include $(shell find $(B) -name '*.d' 2>/dev/null)
