# Functions that script/check, script/test, script/prove and script/flaky share.
# shellcheck shell=bash

# These packages have their own steps: they need a browser, the agent programs, or
# network namespaces.
special='/test/browser$|/test/agents$|/internal/testkit/machines$'

# These tests run in one goroutine, or start processes of the built program. The
# race detector sees nothing in them and makes them several times slower.
tests_outside_race_detection='Simulated|HoweverOften|^TestScript$|^TestWherever|^TestACrash(Anywhere|Of|Leaves|While)|RecordingThatCrashes|AtAnyStep|AHugeAnswer|ALargePlan'

# With this GOGC the compiler, the linker and the linter collect garbage less often, which
# saves a fifth of their time.
fast_build=400

# Without the folder of the clone in them, compiled packages are reused in another clone.
export GOFLAGS="${GOFLAGS:+$GOFLAGS }-trimpath"

# The go command and the linter keep their caches at home.
writable_home() {
	if [[ -z ${HOME:-} || ! -w $HOME ]]; then
		export HOME=${TMPDIR:-/tmp}/gaffer-home-$UID
		mkdir -p "$HOME"
	fi
}

# install_missing installs programs that the tests need, as Debian packages.
# Arguments are command:package.
install_missing() {
	command -v go >/dev/null || fail "go is missing: install Go 1.26 or newer, see https://go.dev/doc/install"
	local packages=() need
	for need in "$@"; do
		command -v "${need%%:*}" >/dev/null || packages+=("${need#*:}")
	done
	has_postgres || packages+=(postgresql)
	[[ ${#packages[@]} -gt 0 ]] || return 0
	# Race detection links C code and needs the headers beside the compiler.
	[[ " ${packages[*]} " != *" gcc "* ]] || packages+=(libc6-dev)
	command -v apt-get >/dev/null || fail "install these and run again: ${packages[*]}"
	may_install || fail "as root, run: apt-get install ${packages[*]}"
	as_root apt-get update -q
	as_root env DEBIAN_FRONTEND=noninteractive apt-get install -qy --no-install-recommends "${packages[@]}"
}

# install_headless_shell installs a Chromium that costs the browser's tests a third less. They
# also run without it.
install_headless_shell() {
	command -v chromium-headless-shell >/dev/null || ! may_install ||
		as_root env DEBIAN_FRONTEND=noninteractive apt-get install -qy --no-install-recommends chromium-headless-shell || true
}

# Debian keeps the server's programs out of PATH.
has_postgres() { command -v initdb >/dev/null || compgen -G '/usr/lib/postgresql/*/bin/initdb' >/dev/null; }

may_install() { [[ $UID -eq 0 ]] || sudo -n true 2>/dev/null; }

as_root() {
	if [[ $UID -eq 0 ]]; then "$@"; else sudo -n "$@"; fi
}

# build_program builds the gaffer that all tests start. An unchanged program keeps
# its file, so cached test results stay valid.
build_program() {
	local new=$PWD/.build/gaffer.new
	mkdir -p .build
	GOGC=$fast_build go build -buildvcs=false -o "$new" ./cmd/gaffer
	export GAFFER_TEST_PROGRAM=$PWD/.build/gaffer
	if cmp -s "$new" "$GAFFER_TEST_PROGRAM"; then rm "$new"; else mv "$new" "$GAFFER_TEST_PROGRAM"; fi
}

# go_test runs tests anew. They get the ordinary garbage collection, because some of them
# measure memory. Tests wait more than they compute: they may run with -parallel.
go_test() {
	GOGC=$fast_build go test -exec 'env -u GOGC' -count=1 -vet=off -timeout 60m "$@"
}

# race_test runs tests with race detection.
#
# SQLite is C translated to Go. Race detection in it finds nothing of ours and makes the
# tests that use it four times slower, so the compiler leaves it out there. Without the
# setting in GORACE, each process with race detection takes a second to exit.
race_test() {
	GORACE=atexit_sleep_ms=0 go_test -race '-gcflags=modernc.org/...=-race=false' -p 3 -parallel 4 -skip "$tests_outside_race_detection" "$@"
}

# ordinary_packages lists the packages without steps of their own.
ordinary_packages() { go list ./... | grep -vE "$special"; }

# These packages start goroutines only to run processes or a test server, and share
# no memory between them.
no_shared_memory='/bench/|/internal/attempt/agent/fake$|/internal/cli/(demo|env|page|serve|state|statusline|worker)$|/internal/app/demo$|/internal/attempt/tmux$|/internal/attempt/worktree$|/test/'

# concurrent_packages lists those that start goroutines, in code or in tests.
concurrent_packages() {
	go list -f '{{.ImportPath}} {{.Dir}}' ./... | grep -vE "${special//\$/ }|${no_shared_memory//\$/ }" | while read -r package dir; do
		if grep -qE '\bgo func|\.Go\(|^\s*go [a-z][A-Za-z.]*\(' "$dir"/*.go; then echo "$package"; fi
	done
}

# step NAME COMMAND… runs a command in the background. Its output goes to
# $logs/NAME.log; finish prints it.
step() {
	local name=$1
	shift
	echo "started  $name"
	(
		local start=$SECONDS code=0 TIMEFORMAT='%U %S'
		{ time "$@" >"$logs/$name.log" 2>&1 </dev/null; } 2>"$logs/$name.cpu" || code=$?
		echo "$((SECONDS - start)) $(awk 'END { printf "%.0f", $1 + $2 }' "$logs/$name.cpu")" >"$logs/$name.result"
		echo "finished $name after $((SECONDS - start)) s$([[ $code -eq 0 ]] || echo ", exit code $code")"
		exit "$code"
	) &
	steps[$name]=$!
}

# low_priority COMMAND… is for steps that keep the cores busy beside others that wait.
low_priority() {
	renice -n 5 -p "$BASHPID" >/dev/null
	"$@"
}

# wait_for waits for the end of a step. finish reports how it ended.
wait_for() { wait "${steps[$1]}" || true; }

# finish waits for steps and prints their output. If one has failed, it also prints the shares, and
# the output of failed steps last.
finish() {
	local name failed=()
	for name in "$@"; do
		wait "${steps[$name]}" || failed+=("$name")
	done
	for name in "$@"; do
		[[ " ${failed[*]-} " == *" $name "* ]] || print_step "$name"
	done
	[[ ${#failed[@]} -gt 0 ]] || return 0
	shares
	for name in "${failed[@]}"; do print_step "$name"; done
	fail "failed: ${failed[*]}"
}

print_step() {
	echo "--- $1"
	cat "$logs/$1.log"
}

# shares prints each step's time, and the packages that took longest.
shares() {
	echo "--- seconds by step, and seconds of CPU time"
	local result
	for result in "$logs"/*.result; do
		printf '%6s %6s  %s\n' $(<"$result") "$(basename "$result" .result)"
	done | sort -rn
	echo "--- seconds by package, the longest"
	awk '$1 == "ok" && $3 ~ /s$/ { s = $3; sub(/s$/, "", s); printf "%8.1f  %s\n", s, $2 }' "$logs"/*.log | sort -rn | sed -n 1,30p # head could end sort by SIGPIPE, and a green run would fail
}

fail() {
	echo "$0: $*" >&2
	exit 1
}
