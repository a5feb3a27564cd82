# The data DAG: one block per stage, and nothing else.
#
#	specs -> ingest -> dedupe -> diversify -> review -+-> solve -> repair -> optimize -> verify -+-> package
#	         (the whole set)                          +-- one chain for each of SHARDS shards ---+
#
# Each step writes data/STEP.jsonl.zst and touches stamp/STEP; the data file is replaced only when its content
# changes, so that what depends on it reruns only then. params/STEP holds the option values that the step used.

SPECS ?= seeds/specs
TRANSCRIPTS ?= seeds/transcripts
DECISIONS ?= $(if $(filter seeds/specs,$(SPECS)),seeds/review/decisions.jsonl,$(OUT)/decisions.jsonl)
SHARDS ?= 1
SEED ?= 1
DEVICE ?= cpu
POLICY ?= transcript
# decisions: tasks without a decision stop before solve; skip: they are released as unreviewed.
REVIEW ?= decisions
# How many tasks diversify keeps; empty: all.
TASKS ?=
THREADS ?= $(shell nproc)
STORE ?= $(OUT)/store
# Our own seeds must all be good; of a user's specs any number may be refused.
MAX_REJECTS ?= $(if $(filter seeds/specs,$(SPECS)),0,100%)

D := $(OUT)/data
SHARD_NUMBERS := $(shell seq 0 $$(( $(SHARDS) - 1 )); mkdir -p $(D)/params $(D)/stamp $(D)/side)
SPEC_FILES := $(shell find $(SPECS) -type f 2>/dev/null)
TRANSCRIPT_FILES := $(if $(filter transcript,$(POLICY)),$(shell find $(TRANSCRIPTS) -type f 2>/dev/null))
ENGINE := --store $(STORE) --device $(DEVICE) --seed $(SEED) --threads $(THREADS)
MODEL := --policy $(POLICY) $(if $(filter transcript,$(POLICY)),--transcripts $(TRANSCRIPTS))
RUNTIME := $(INTERNAL_PROGRAMS) $(RECORDER) $(PROFILES)

.PHONY: dataset
dataset: $(D)/stamp/package ## regenerate the dataset into out/release

# $(call step,NAME,PROGRAM,OPTIONS,INPUT,PREREQUISITES,ORDER-ONLY PREREQUISITES)
# What costs money or hours has its program order-only: a newer binary is no reason to buy answers again.
define step
$(D)/$(1).jsonl.zst: $(D)/stamp/$(1) ;
$(D)/stamp/$(1): $(5) $(D)/params/$(1) | $(6)
	@s=$$$$(date +%s%N); \
	$(BUILD)/bin/km-$(2) $(3) --max-rejects $(MAX_REJECTS) --rejects $(D)/side/$(1).rejects.jsonl \
		--stats $(D)/side/$(1).stats.json -o $(D)/$(1).new.jsonl.zst $(4); \
	if cmp -s $(D)/$(1).new.jsonl.zst $(D)/$(1).jsonl.zst; then rm $(D)/$(1).new.jsonl.zst; \
	else mv $(D)/$(1).new.jsonl.zst $(D)/$(1).jsonl.zst; fi; \
	echo "$(1) $$$$(( ($$$$(date +%s%N) - s) / 1000000 )) ms" >$$@
$(call params,$(1),$(2) $(3) $(MAX_REJECTS))
endef

# params/NAME holds the options of the last run and is rewritten only when they differ.
params = $(if $(filter-out x$(subst $(space),_,$(strip $(file <$(D)/params/$(1)))),x$(subst $(space),_,$(strip $(2)))),$(file >$(D)/params/$(1),$(strip $(2))))
space := $(subst ,, )

whole = $(BUILD)/bin/km-$(1) $(RUNTIME)

# ---- ingest: raw specs to cases
$(eval $(call step,ingest,ingest,$(ENGINE),$(SPECS),$(SPEC_FILES) $(call whole,ingest)))

# ---- dedupe: exact and normalised duplicates out
$(eval $(call step,dedupe,dedupe,,$(D)/ingest.jsonl.zst,$(D)/ingest.jsonl.zst $(BUILD)/bin/km-dedupe))

# ---- diversify: a spread subset, the rest in reserve
$(eval $(call step,diversify,diversify,--seed $(SEED) $(if $(TASKS),-n $(TASKS)) --reserve $(D)/side/reserve.jsonl.zst,$(D)/dedupe.jsonl.zst,$(D)/dedupe.jsonl.zst $(BUILD)/bin/km-diversify))

# ---- review: what a person decided; tasks without a decision stop here
$(eval $(call step,review,review,$(if $(wildcard $(DECISIONS)),--decisions $(DECISIONS)) --default $(if $(filter skip,$(REVIEW)),unreviewed,hold),$(D)/diversify.jsonl.zst,$(D)/diversify.jsonl.zst $(wildcard $(DECISIONS)) $(BUILD)/bin/km-review))

# ---- solve, repair, optimize, verify: one chain for each shard
define shard
$(call step,solve-$(1),solve,$(ENGINE) $(MODEL) --shard $(1)/$(SHARDS),$(D)/review.jsonl.zst,$(D)/review.jsonl.zst $(TRANSCRIPT_FILES),$(BUILD)/bin/km-solve $(RUNTIME))
$(call step,repair-$(1),repair,$(ENGINE) $(MODEL),$(D)/solve-$(1).jsonl.zst,$(D)/solve-$(1).jsonl.zst,$(BUILD)/bin/km-repair $(RUNTIME))
$(call step,optimize-$(1),optimize,$(ENGINE) $(MODEL),$(D)/repair-$(1).jsonl.zst,$(D)/repair-$(1).jsonl.zst,$(BUILD)/bin/km-optimize $(RUNTIME))
$(call step,verify-$(1),verify,$(ENGINE) --all,$(D)/optimize-$(1).jsonl.zst,$(D)/optimize-$(1).jsonl.zst,$(BUILD)/bin/km-verify $(RUNTIME))
endef
$(foreach i,$(SHARD_NUMBERS),$(eval $(call shard,$(i))))

# ---- package: the release
VERIFIED := $(SHARD_NUMBERS:%=$(D)/verify-%.jsonl.zst)
$(D)/stamp/package: $(VERIFIED) $(D)/params/package $(BUILD)/bin/km-package
	@s=$$(date +%s%N); \
	$(BUILD)/bin/km-package -o $(OUT)/release --seed $(SEED) --stages $(D)/side --stats $(D)/side/package.stats.json $(VERIFIED); \
	echo "package $$(( ($$(date +%s%N) - s) / 1000000 )) ms" >$@
$(call params,package,$(SEED) $(SHARDS))

QUEUE := $(STORE)/review.sqlite
.PHONY: review seed-decisions times
review: $(D)/diversify.jsonl.zst $(BUILD)/bin/km-review ## decide on tasks in the terminal; the next dataset uses it
	$(BUILD)/bin/km-review import -q --queue $(QUEUE) --replace $(if $(wildcard $(DECISIONS)),--decisions $(DECISIONS)) $<
	$(BUILD)/bin/km-review tui --queue $(QUEUE) || s=$$?; \
		$(BUILD)/bin/km-review export -q --queue $(QUEUE) -o $(DECISIONS); exit $${s:-0}
seed-decisions: programs ## accept changed seed tasks by the project's own checks
	t=$$(mktemp -d); $(BUILD)/bin/km-ingest -q --store $(STORE) -o $$t/t.jsonl seeds/specs; \
	$(BUILD)/bin/km-review import -q --queue $$t/q.sqlite --decisions seeds/review/decisions.jsonl $$t/t.jsonl; \
	$(BUILD)/bin/km-review decide -q --queue $$t/q.sqlite --all --accept --actor KernelMosaic --actor-kind program \
		--mode imported --reason 'a task of this project; its forms agree and its examples hold at ingest'; \
	$(BUILD)/bin/km-review export -q --queue $$t/q.sqlite -o seeds/review/decisions.jsonl; rm -r $$t
times: ## show how long each step of the last dataset took
	@for s in ingest dedupe diversify review $(foreach i,$(SHARD_NUMBERS),solve-$(i) repair-$(i) optimize-$(i) verify-$(i)) package; \
		do cat $(D)/stamp/$$s 2>/dev/null || true; done
