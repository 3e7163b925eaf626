#!/bin/sh
# make.sh GAFFER: runs plans with a gaffer and writes the database that it leaves to the
# current folder: gaffer.db.gz, and postgres.sql.gz if GAFFER_DB is the URL of an empty
# PostgreSQL database. It needs root, because the project is /srv/project and the
# machine is called "machine"; git, jq, curl, sqlite3 and pg_dump.
set -eu
if [ "${1:-}" != inside ]; then
	exec env -i PATH="$PATH" GAFFER_DB="${GAFFER_DB:-}" unshare --uts sh "$0" inside "$1" "$PWD"
fi
out=$3
hostname machine
rm -rf /srv/project /srv/state /srv/home /srv/bin
mkdir -p /srv/project /srv/home /srv/bin
cp "$2" /srv/bin/gaffer
export PATH="/srv/bin:$PATH" HOME=/srv/home XDG_STATE_HOME=/srv/state XDG_CONFIG_HOME=/srv/home/.config GAFFER_TRUST=all
export API_KEY=not-a-real-key GIT_CONFIG_NOSYSTEM=1
cd /srv/project
[ -n "$GAFFER_DB" ] || unset GAFFER_DB

# wait_for COMMAND: repeats it until it succeeds.
wait_for() {
	n=0
	until eval "$1" >/dev/null 2>&1; do
		n=$((n + 1))
		[ $n -lt 600 ] || { echo "make.sh: waited in vain for: $1" >&2; exit 1; }
		sleep 0.1
	done
}

cat >.gitignore <<'END'
*
!*.txt
END
cat >gaffer.yaml <<'END'
project_name: shop
agents:
  actor:
    like: claude
    argv: [gaffer, fake-agent, --protocol, claude]
  claude:
    argv: [gaffer, fake-agent, --protocol, claude]
  member:
    like: claude
    argv: [gaffer, fake-agent, --protocol, claude, --scripts, /srv/project/play]
team:
  roles: {pm: {agent: member}, developer: {agent: member}, qa_expert: {agent: member}, tech_lead: {agent: member}}
END
mkdir -p /srv/home/.config/gaffer
printf 'notify: {desktop: never, command: [/srv/project/notified.sh]}\n' >/srv/home/.config/gaffer/gaffer.yaml
printf '#!/bin/sh\ncat >>/srv/project/notified.log\n' >notified.sh
chmod 755 notified.sh
cat >play <<'END'
== pm-1
say {"status": "PLANNED", "summary": ["two"], "mode": "parallel", "mode_reasoning": "b needs a", "tasks": [{"id": "T1", "description": "a", "group_id": "A"}, {"id": "T2", "description": "b", "group_id": "B"}], "groups": [{"id": "A", "name": "The A part", "tasks": ["T1"]}, {"id": "B", "name": "The B part", "tasks": ["T2"], "depends_on": ["A"]}]}
== A-developer-*
write a.txt a
say {"status": "READY_FOR_QA", "summary": ["made"]}
== B-developer-1
write b.txt b
say {"status": "READY_FOR_REVIEW", "summary": ["made"]}
== *-qa-*
say {"status": "PASS", "summary": ["fine"]}
== *-tech-lead-*
say {"status": "APPROVED", "summary": ["good"]}
== pm-2
say {"status": "CONTINUE", "summary": ["on"]}
== pm-*
say {"status": "COMPLETE", "summary": ["done"]}
END
mkdir -p prompts .fctry
echo 'fake: write base.txt base
fake: tool git add base.txt && git commit -qm base' >prompts/001-base.md
echo 'fake: write left.txt left
fake: tool git add left.txt && git commit -qm left' >prompts/002-left.md
echo 'fake: write right.txt right
fake: tool git add right.txt && git commit -qm right' >prompts/003-right.md
echo 'fake: tool test -e left.txt && test -e right.txt
fake: say joined' >prompts/004-join.md
cat >workflow.yaml <<'END'
workflows:
  parts:
    base: main
    branch: parts
    on_complete: {merge_to: main, delete_worktree: true}
    prompts:
      base: {path: prompts/001-base.md}
      left: {path: prompts/002-left.md, after: [base]}
      right: {path: prompts/003-right.md, after: [base]}
      join: {path: prompts/004-join.md, after: [left, right]}
END
cat >complete.yaml <<'END'
name: every field
parallel: 2
on_failure: stop
budget: {usd: 5, tokens: 100000}
defaults:
  agent: actor
  retries: 1
  timeout: 10m
  stall_timeout: 5m
  env:
    PORT: "8080"
    API_KEY: {from: env, name: API_KEY}
    FILE_KEY: {from: file, path: ~/key}
    COMMAND_KEY: {from: command, argv: [echo, secret]}
tasks:
  - id: schema
    name: Make the schema
    prompt: |
      Make it.
      fake: usage 1200 300 0.05
      fake: compact
      fake: say made the schema
    model: small
    files: [schema/*.sql]
    priority: 3
    budget: {usd: 0.5}
  - id: api
    prompt: "fake: permission Bash rm\nfake: usage 10 20 0.01\nfake: say done without it"
    wave: 2
    questions: allow
    verify: [test -e gaffer.yaml, "true"]
  - id: docs
    prompt: "fake: ask Which? | one | two\nfake: say answered"
    after: [schema]
    answer_timeout: 1s
    answer_default: one
  - {id: ship, wave: 3, command: [echo, shipped], questions: deny}
  - {id: tree, branch: feature/tree, shell: "echo x > tree.txt && git add tree.txt && git commit -qm tree"}
END
cat >failed.yaml <<'END'
name: fails
tasks:
  - {id: flaky, agent: actor, retries: 2, prompt: "fake: on-attempt 1 api-error 529\nfake: say at last"}
  - {id: bad, agent: actor, retries: 1, prompt: "fake: usage 5 5 0.02\nfake: fail it broke", budget: {tokens: 5000}}
  - {id: checked, agent: actor, prompt: "fake: say ok", verify: ["echo wrong; exit 3"]}
  - {id: denied, agent: actor, prompt: "fake: permission Bash rm\nfake: fail it was denied", questions: deny}
  - {id: after, shell: "true", after: [bad]}
END
cat >limited.yaml <<'END'
name: limited
tasks:
  - {id: slow, agent: actor, prompt: "fake: on-attempt 1 limit 1\nfake: say ok"}
END
cat >asked.yaml <<'END'
name: asked
tasks:
  - {id: port, agent: actor, prompt: "fake: ask Which port? | 80 | 8080\nfake: say ok"}
END
cat >cancelled.yaml <<'END'
name: cancelled
tasks:
  - {id: long, shell: "sleep 600"}
  - {id: never, shell: "true", after: [long]}
END
cat >open.yaml <<'END'
name: interrupted
parallel: 3
tasks:
  - {id: done, shell: "echo done"}
  - {id: running, shell: "test -e go || sleep 600"}
  - {id: asking, agent: actor, prompt: "fake: ask Go on? | yes | no\nfake: say ok"}
  - {id: queued, shell: "echo queued", after: [running]}
END
cat >server.yaml <<'END'
name: on a server
tasks:
  - {id: one, shell: "echo hello", verify: ["true"]}
  - {id: two, agent: actor, after: [one], prompt: "fake: usage 7 8 0.03\nfake: compact\nfake: say ok"}
END
cat >chunks.yaml <<'END'
name: demo
agent: actor
chunks:
  - {id: 1, name: One, sections: ["#one"], prompt: "fake: unless-attempt 1 tool touch there\nfake: say ok", verify: [{name: the file, file: there}]}
  - {id: 2, name: Two, dependsOn: [1], prompt: "fake: say ok", verify: ["true"]}
END
printf -- '---\nspec-version: 1.0\n---\n# Demo\n## 1 One {#one}\n' >.fctry/spec.md
echo key >/srv/home/key
git config --global user.name n
git config --global user.email n@example.com
git init -q -b main
git add -f .gitignore gaffer.yaml
git commit -qm start

gaffer run complete.yaml || true
gaffer run failed.yaml || true
gaffer retry checked
gaffer resume || true
gaffer run limited.yaml
gaffer run asked.yaml --detach
wait_for 'gaffer answer | grep -q port'
gaffer answer port --option 2
wait_for 'gaffer status asked --json | jq -e ".status == \"complete\""'
gaffer run cancelled.yaml --detach
wait_for 'gaffer ps | grep -q long'
gaffer cancel long
gaffer run workflow.yaml
gaffer build chunks.yaml
gaffer dispatch bd-1 'fake: say ok' --agent actor --headless --verify true
gaffer team 'Make a, then b' --test 'test -e a.txt' --merge-into main

gaffer serve --listen 127.0.0.1:0 >/srv/home/serve.out 2>/srv/home/serve.log &
server=$!
wait_for "grep -q '^Listening on' /srv/home/serve.out"
url=$(sed -n 's/^Listening on //p' /srv/home/serve.out)
token=$(cat /srv/state/gaffer/token)
git clone -q /srv/project /srv/home/project
cp gaffer.yaml /srv/home/project
XDG_STATE_HOME=/srv/home/state GAFFER_PROJECT=/srv/home/project GAFFER_TOKEN=$token gaffer worker --server "$url" --name mill --slots 2 --labels gpu >/srv/home/worker.log 2>&1 &
worker=$!
wait_for "gaffer workers --server $url | grep -q '^mill *online'"
gaffer run server.yaml --server "$url"
post() { curl -sSf -H "Authorization: Bearer $token" -d "$2" "$url/v1/$1"; }
channel=$(post channels '{"name":"dev","description":"work"}' | jq -r .channel.id)
post agents/heartbeat '{"agent_id":"a1","name":"one","claude_status":"idle"}' >/dev/null
chain=$(post chains "{\"name\":\"steps\",\"channel_id\":\"$channel\"}" | jq -r .chain.id)
post tasks "{\"channel_id\":\"$channel\",\"chain_id\":\"$chain\",\"sequence\":1,\"title\":\"Paint it\"}" >/dev/null
post tasks "{\"channel_id\":\"$channel\",\"chain_id\":\"$chain\",\"sequence\":2,\"title\":\"Dry it\"}" >/dev/null
task=$(post tasks/claim '{"agent_id":"a1","channel":"dev","idempotency_key":"k"}' | jq -r .task.id)
post tasks/inputs "{\"task_id\":\"$task\",\"agent_id\":\"a1\",\"kind\":\"text\",\"text\":\"blue\"}" >/dev/null
post events "{\"agent_id\":\"a1\",\"task_id\":\"$task\",\"type\":\"note\",\"payload\":{\"n\":1}}" >/dev/null
post tasks/complete "{\"task_id\":\"$task\",\"agent_id\":\"a1\"}" >/dev/null
kill -TERM $worker
wait $worker || true
kill -TERM $server
wait $server || true

# The last run is interrupted: everything that works on it is killed.
gaffer run open.yaml --detach
wait_for 'gaffer ps --json | jq -e "[.[] | select(.state == \"waiting\")] | length >= 1" || gaffer answer | grep -q asking'
wait_for 'gaffer status --json | jq -e ".counts.running == 2 and .counts.complete == 1"'
sleep 2
for pid in $(grep -lsz '^XDG_STATE_HOME=/srv/state$' /proc/[0-9]*/environ | cut -d/ -f3); do
	kill -9 "$pid" 2>/dev/null || true
done
sleep 1

if [ -n "${GAFFER_DB:-}" ]; then
	pg_dump --no-owner --no-privileges --inserts "$GAFFER_DB" | grep -v '^\\\(un\)\?restrict' | gzip -9n >"$out/postgres.sql.gz"
else
	sqlite3 /srv/state/gaffer/gaffer.db 'VACUUM INTO "/srv/home/copy.db"'
	gzip -9nc /srv/home/copy.db >"$out/gaffer.db.gz"
fi
ls -l "$out"
