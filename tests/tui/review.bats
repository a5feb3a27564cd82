# The terminal view, driven by keys in a terminal of tmux, and compared with screens that were looked at.
# KM_WRITE_SCREENS=1 writes the screens instead: look at the difference before you commit it.

setup() {
	review=$KM_OUT/bin/km-review
	data=$BATS_TEST_DIRNAME/../data/review
	screens=$BATS_TEST_DIRNAME/screens
	cd "$BATS_TEST_TMPDIR"
	export TMUX_TMPDIR=$PWD
	unset TMUX
	cp "$data/cases.jsonl" .
	"$review" import -q --queue q.sqlite cases.jsonl
	server=0
}

teardown() {
	stop
}

# Ends the terminal, and the program if it is still there.
stop() {
	local left
	left=$(program 2>/dev/null) || true
	t kill-server 2>/dev/null || true
	[ -z "$left" ] || kill -9 "$left" 2>/dev/null || true
}

# A server of its own for each start: a name that was just left is not free at once.
t() {
	tmux -L "$server" "$@"
}

# Starts a program in a terminal of this size; its standard error and status go to files.
start() { # columns rows [environment...] -- ; without a command: the view of the queue
	local columns=$1 rows=$2
	shift 2
	server=$((server + 1))
	t -f /dev/null new-session -d -x "$columns" -y "$rows" \
		"stty -a >before; ${*:-LC_ALL=C.UTF-8} '$review' tui --queue q.sqlite --actor ann 2>err; echo \$? >status; stty -a >after; echo left; read line"
	t set-option -g status off
	t resize-window -x "$columns" -y "$rows"
}

screen() {
	t capture-pane -p
}

# Waits until the screen shows these words.
see() {
	for _ in $(seq 100); do
		! screen | grep -qF -- "$1" || return 0
		sleep 0.05
	done
	echo "not on the screen: $1"
	screen
	return 1
}

keys() {
	t send-keys "$@"
}

same_screen() { # name
	local file=$screens/$1
	screen >now
	if [ -n "${KM_WRITE_SCREENS:-}" ]; then
		cp now "$file"
	fi
	diff "$file" now
}

# The process on the terminal, below the shell that started it.
program() {
	pgrep -P "$(t display -p '#{pane_pid}')" | head -1
}

log() {
	"$review" export -q --queue q.sqlite --log |
		python3 -c 'import json, sys
for l in sorted(map(json.loads, sys.stdin), key=lambda x: x["sequence"]): print(l["name"], l["status"], l["mode"], l["actor"], l["actor_kind"], l["reason"], l.get("retracts", ""))'
}

@test "the list" {
	"$review" decide -q --queue q.sqlite --task batch_norm_f32 --accept
	start 80 24
	see "undecided 3"
	same_screen list.txt
}

@test "a task: its forms and its contract, by Tab" {
	start 80 24
	see "undecided 4"
	keys Enter
	see "Row means"
	same_screen task-prompt.txt
	keys Tab
	see "double sum"
	same_screen task-reference.txt
	keys Tab
	see "aligned"
	same_screen task-math.txt
	keys Tab
	see "Workloads"
	same_screen task-contract.txt
	keys BTab
	see "aligned"
	keys Tab Tab
	see "Row means"
}

@test "text from outside shows as text: wide characters, and no escape sequence is obeyed" {
	start 80 24
	see "undecided 4"
	keys n n Enter
	see "owned"
	same_screen task-unicode.txt
}

@test "scrolling by line, screen and end" {
	start 80 24
	see "undecided 4"
	keys Enter
	see "Row means"
	keys j j
	see "line 13 of"
	keys NPage
	see "line 30 of"
	keys g
	see "Row means"
	keys G
	see "line 30 of"
	same_screen task-end.txt
	keys k
	see "line 12 of"
	keys PPage
	see "Row means"
}

@test "one key accepts and goes on; the last one says so" {
	start 80 24
	see "undecided 4"
	keys Enter
	see "Row means"
	keys a
	see "accepted batch_norm_f32"
	see "2 of 4"
	keys a
	see "3 of 4"
	keys s
	see "skipped max_pool_f32"
	see "4 of 4"
	keys a
	see "3 of 4"
	keys a
	see "every task is decided"
	[ "$(log)" = "batch_norm_f32 accepted interactive ann person  
cumsum_f16 accepted interactive ann person  
max_pool_f32 skipped interactive ann person  
softmax_f32 accepted interactive ann person  
max_pool_f32 accepted interactive ann person  " ]
}

@test "rejecting asks for a reason, in any script, and can be called off" {
	start 80 24
	see "undecided 4"
	keys r
	see "Why is it rejected?"
	keys -l "zu größ最x"
	keys BSpace BSpace
	see "zu größ"
	same_screen reason.txt
	keys Enter
	see "rejected batch_norm_f32"
	keys r
	see "Why is it rejected?"
	keys Escape
	see "nothing was decided"
	keys r
	see "Why"
	keys Enter
	see "a rejection needs a reason"
	[ "$(log)" = "batch_norm_f32 rejected interactive ann person zu größ " ]
}

@test "undo takes back step by step, and only one's own" {
	"$review" decide -q --queue q.sqlite --task softmax_f32 --accept
	start 80 24
	see "accepted 1"
	keys a s
	see "skipped 1"
	keys u
	see "about cumsum_f16 is taken back"
	see "skipped 0"
	keys u
	see "about batch_norm_f32 is taken back"
	see "1 of 4"
	keys u
	see "no decision of yours"
	see "accepted 1"
}

@test "search in the list and in a task" {
	start 80 24
	see "undecided 4"
	keys /
	keys -l POOL
	keys Enter
	see "3 of 4"
	keys /
	keys -l nowhere
	keys Enter
	see "not found: nowhere"
	keys g Enter
	see "Row means"
	keys /
	keys -l "line 17"
	keys Enter
	see "line 29 of"
	keys q
	see "list of tasks"
}

@test "the help is made from the keys, and nothing is decided behind it" {
	start 80 26
	see "undecided 4"
	keys ?
	see "every decision is on the disk"
	same_screen help.txt
	keys a r s
	keys q
	see "undecided 4"
	[ -z "$(log)" ]
}

@test "it fits smaller screens, says when one is too small, and follows a change of size" {
	start 60 12
	see "undecided 4"
	keys Enter
	see "Row means"
	same_screen small.txt
	t resize-window -x 30 -y 6
	see "too small: 40x8"
	keys a a a
	sleep 0.3
	t resize-window -x 100 -y 30
	see "line 17 of"
	see "undecided 4"
	[ -z "$(log)" ]
}

@test "q ends in the list, Q anywhere, and the terminal is as it was" {
	start 80 24
	see "undecided 4"
	keys Enter
	see "Row means"
	keys q
	see "list of tasks"
	keys q
	see left
	[ "$(cat status)" = 0 ] && [ ! -s err ]
	cmp before after
	! screen | grep -q undecided
}

@test "a signal gives the terminal back, and keeps what was decided" {
	for signal in INT:130 TERM:143 HUP:129 QUIT:131; do
		rm -f status
		start 80 24
		see "undecided"
		keys a
		see "accepted"
		kill -"${signal%:*}" "$(program)"
		see left
		[ "$(cat status)" = "${signal#*:}" ]
		cmp before after
		stop
	done
	[ "$(log | grep -c accepted)" = 4 ]
}

@test "kill -9 after a key: the decision is there" {
	start 80 24
	see "undecided 4"
	keys a
	see "accepted 1"
	kill -9 "$(program)"
	[ "$(log | grep -c accepted)" = 1 ]
}

@test "a terminal that is closed ends the program" {
	start 80 24
	see "undecided 4"
	local pid=$(program)
	t kill-server
	for _ in $(seq 100); do
		kill -0 "$pid" 2>/dev/null || return 0
		sleep 0.05
	done
	return 1
}

@test "a decision made elsewhere shows up by itself" {
	start 80 24
	see "undecided 4"
	"$review" decide -q --queue q.sqlite --task softmax_f32 --reject --reason no
	see "rejected 1"
}

@test "a task that changed says so, and its decision does not count" {
	"$review" decide -q --queue q.sqlite --all --accept
	sed 's/"KernelMosaic"/"Somebody"/' cases.jsonl | head -1 >changed.jsonl
	"$review" import -q --queue q.sqlite changed.jsonl
	start 80 24
	see "undecided 1"
	see "changed"
	keys Enter
	see "it was decided before, and has changed since"
}

@test "a queue that is held: the screen says that nothing was saved, and stays" {
	start 80 24
	see "undecided 4"
	mkfifo say
	sqlite3 q.sqlite <say >held 3>&- &
	exec 9>say
	echo 'BEGIN IMMEDIATE; SELECT 1;' >&9
	while ! grep -q 1 held; do sleep 0.05; done
	keys a
	sleep 5.2
	see "NOT SAVED"
	see "1 of 4"
	exec 9>&-
	wait
	keys a
	see "accepted 1"
}

@test "without colours, in a plain locale, and on a simple terminal it reads the same" {
	for environment in 'LC_ALL=C.UTF-8 NO_COLOR=1' 'LC_ALL=C' 'LC_ALL=C.UTF-8 TERM=vt100' 'LC_ALL=C.UTF-8 TERM=xterm-mono'; do
		start 80 24 "$environment"
		see "undecided 4"
		keys n n Enter
		see "owned"
		[ "${environment#*vt100}" != "$environment" ] || same_screen task-unicode.txt
		stop
	done
}

@test "no terminal is 69, an unknown one too" {
	run "$review" tui --queue q.sqlite </dev/null
	[ "$status" -eq 69 ]
	[[ $output == *"needs a terminal"* ]]
	start 80 24 TERM=nonsense
	see left
	[ "$(cat status)" = 69 ]
	grep -q 'terminal "nonsense" is not known' err
}
