package main

// outcome is the result of an attack.
type outcome string

// The outcomes of an attack.
const (
	prevented outcome = "prevented"     // the attack has no effect, or gaffer undoes the effect
	refused   outcome = "refused"       // gaffer refuses the request, and the attempt's log has the error message
	recorded  outcome = "only recorded" // the attack has an effect, and gaffer shows the effect and its cause
	limit     outcome = "not prevented" // the attack has an effect that gaffer does not undo; docs/security.md says so
)

// attack is one attack: its row in docs/attacks.md, and the function that performs the attack.
type attack struct {
	name, tries string
	with        outcome // expected outcome on a machine with control groups
	without     outcome // expected outcome on a machine without control groups
	because     string  // what protects against the attack; if nothing does, what would protect against it
	// section is the title of a section of docs/security.md that names this attack. It is set if
	// one of the two expected outcomes is limit (the attack is not prevented), and empty if not.
	section string

	scene
	try func(*agent)
}

// scene says in which environment the attacking agent runs.
type scene struct {
	asks bool // the attacker has a permission request that is not answered yet
	// sibling says what the other agent of the run does. If it is "works", the agent works. If it
	// is "asks", the agent has a permission request that is not answered yet. If it is empty, there
	// is no other agent.
	sibling   string
	hasServer bool   // a gaffer server uses the database of the run
	hasWorker bool   // a worker of that gaffer server works on the run
	worktree  bool   // the attacker works in a worktree
	tmpfs     string // mount options of a separate file system for the state folder; empty for none
	timeout   string // time limit of the attacker's task; empty for none
	retries   int
	stays     bool // the attacker keeps running until the test creates the release file
	exit      int  // the attacker's exit code
	// alone means that no other attack runs at the same time. This is necessary if gaffer cannot
	// tell to which attempt on the machine a process of the attack belongs.
	alone bool
}

const (
	works = "works"
	asks  = "asks"

	limits = "Limits"
)

var attacks = []attack{
	// Attacks that act in the user's name.
	{"approve-itself", "`gaffer answer` on its own permission request", refused, refused, "the processes above the command", "", scene{asks: true}, approve},
	{"approve-itself-env-i", "the same through `env -i setsid`", refused, refused, "the processes above, not the environment or session", "", scene{asks: true}, approveBare},
	{"approve-itself-detached", "the same from a process that was forked twice and has no parent", refused, refused, "the supervisor adopts it", "", scene{asks: true}, approveDetached},
	{"approve-itself-script", "the same from a script that waits until its parent is gone", refused, refused, "the supervisor adopts it", "", scene{asks: true}, approveScript},
	{"approve-itself-mcp", "the same through the tools of `gaffer mcp`", refused, refused, "no tool answers", "", scene{asks: true}, approveMCP},
	{"approve-itself-http", "the same over HTTP, with the admin's token out of the state folder", limit, limit, "a sandbox without the state folder", limits, scene{asks: true, hasServer: true}, approveHTTP},
	{"answer-sibling", "`gaffer answer` on the request of another task", refused, refused, "the processes above the command", "", scene{sibling: asks}, answerSibling},
	{"answer-other-folder", "the same with a state folder of its own and the user's database by `--db`", refused, refused, "the database decides whose fleet it is", "", scene{sibling: asks}, answerOtherFolder},
	{"answer-unsupervised", "the same from a detached process, after killing supervisor and gaffer", refused, limit, "the control group; without, a sandbox with its own process table", limits, scene{sibling: asks}, answerUnsupervised},
	{"cancel-sibling", "`gaffer cancel` on another task", refused, refused, "the processes above the command", "", scene{sibling: works}, command("cancel", "sibling")},
	{"cancel-run", "`gaffer cancel` on its own run", refused, refused, "the processes above the command", "", scene{sibling: works}, cancelRun},
	{"retry-itself", "`gaffer retry` on its own task", refused, refused, "the processes above the command", "", scene{}, command("retry", "attacker")},
	{"resume-run", "`gaffer resume` on its own run", refused, refused, "the processes above the command", "", scene{}, resumeRun},
	{"create-token", "`gaffer token create --role admin`", refused, refused, "the processes above the command", "", scene{}, command("token", "create", "--role", "admin", "--name", "mine")},
	{"trust-project", "`gaffer trust`, after adding a program to `gaffer.yaml`", refused, refused, "the processes above the command", "", scene{}, trustProject},
	{"open-link", "`gaffer open --print`, for a link that logs in", refused, refused, "the processes above the command", "", scene{hasServer: true}, command("open", "--print")},
	{"prune-and-restore", "`gaffer prune` and `gaffer restore`, to lose the record", refused, refused, "the processes above the command", "", scene{}, pruneAndRestore},
	{"nested-run", "`gaffer run` inside the task, three deep", recorded, recorded, "the events name the agent", "", scene{}, nestedRun},

	// Attacks on credentials.
	{"token-in-environment", "read `GAFFER_TOKEN` of the user", prevented, prevented, "attempts are not given it", "", scene{}, ownToken},
	{"token-of-supervisor", "read it in the environment of its supervisor", prevented, prevented, "supervisors are not given it", "", scene{}, supervisorToken},
	{"token-of-gaffer", "read it in the environment of the gaffer above", limit, limit, "`GAFFER_TOKEN_FILE` outside of a sandbox", limits, scene{}, gafferToken},
	{"token-file", "read the admin's token in the state folder", limit, limit, "a sandbox without the state folder", limits, scene{hasServer: true}, tokenFile},

	// Attacks on the results of tasks, and on the data in which gaffer records these results.
	{"forge-finish", "report the end of another attempt to the coordinator, with a guessed fence", refused, refused, "the fence of the attempt", "", scene{sibling: works, hasWorker: true, hasServer: true}, forgeFinish},
	{"forge-own-fence", "the same with the fence of its own attempt", refused, refused, "the fence of the attempt", "", scene{sibling: works, hasWorker: true, hasServer: true}, forgeOwnFence},
	{"forge-exit-record", "write \"exit 0\" to the record of another supervisor, then kill it", limit, limit, "a sandbox without the state folder", limits, scene{sibling: works}, forgeExit},
	{"forge-stop-order", "stop another task over the socket of its supervisor", limit, limit, "a sandbox without the state folder", limits, scene{sibling: works}, forgeStop},
	{"forge-output", "print lines that look like the result of Claude Code, with a cost, and exit 3", prevented, prevented, "the output of a plain command means nothing", "", scene{exit: 3}, forgeOutput},
	{"write-database", "set the rows of another task to complete with SQLite", limit, limit, "a sandbox without the state folder", limits, scene{sibling: works}, writeDatabase},

	// Attacks on documents.
	{"rewrite-session", "write \"complete\" for all agents to `status.json`", prevented, prevented, "documents are written from the database", "", scene{sibling: works}, rewriteSession},
	{"rewrite-records", "write another status to the run records", recorded, recorded, "a record that was changed is left as it is, and gaffer says so", "", scene{sibling: works}, rewriteRecords},
	{"delete-documents", "delete `status.json` and the records", prevented, prevented, "documents are written from the database", "", scene{sibling: works}, deleteDocuments},
	{"link-documents", "replace `status.json` and the records by symbolic links to a file of the user", recorded, recorded, "gaffer writes through no such link, and names it", "", scene{sibling: works}, linkDocuments},
	{"hard-link-documents", "the same with hard links", prevented, prevented, "documents are replaced, not written through", "", scene{sibling: works}, hardLinkDocuments},
	{"link-folder", "replace the session's folder by a symbolic link to a folder of the user with a `status.json`", recorded, recorded, "gaffer writes through no such link, and names it", "", scene{sibling: works}, linkFolder},
	{"pipe-documents", "replace `status.json` and the records by named pipes", recorded, recorded, "gaffer waits for no pipe, and names it", "", scene{sibling: works}, pipeDocuments},
	{"link-log", "replace its log by a symbolic link to a file of the user, and fail, so that the next attempt writes there", prevented, prevented, "logs are opened without following links", "", scene{retries: 1, exit: 1}, linkLog},
	{"hold-locks", "hold every lock of gaffer for as long as it lives", prevented, prevented, "the supervisor ends it at its timeout", "", scene{timeout: "2s", stays: true}, holdLocks},
	{"delete-locks", "delete every lock and socket, so that a second gaffer works on the run", prevented, prevented, "the owner's file names a process that lives", "", scene{sibling: works}, deleteLocks},
	{"delete-attempts", "delete the folders of all attempts and kill gaffer, so that all begin again", prevented, prevented, "the mark of the attempt's processes", "", scene{sibling: works}, deleteAttempts},
	{"delete-database", "delete the database", limit, limit, "a sandbox without the state folder; `gaffer backup`", limits, scene{sibling: works}, deleteDatabase},

	// Attacks with git.
	{"git-config", "set a file system monitor, a hooks folder, filters and an editor in the repository", prevented, prevented, "what is not trusted does not run", "", scene{worktree: true}, gitConfig},
	{"git-hooks", "put hooks into the repository", prevented, prevented, "gaffer runs no hooks", "", scene{worktree: true}, gitHooks},
	{"git-move-base", "commit on the user's branch from the worktree", limit, limit, "a clone of its own", limits, scene{worktree: true}, gitMoveBase},
	{"delete-worktree", "delete its own worktree and report success", recorded, recorded, "a missing worktree is an error", "", scene{worktree: true}, deleteWorktree},
	{"worktree-link", "leave links to the user's files in the worktree", prevented, prevented, "git commits links, and removes them without following", "", scene{worktree: true}, worktreeLink},

	// Attacks on the machine.
	{"fill-disk", "fill the file system of the state folder", prevented, prevented, "what could not be written is written when there is room", "", scene{tmpfs: "size=24m", stays: true}, fillDisk},
	{"use-up-inodes", "make files in the state folder until there are no more", prevented, prevented, "what could not be written is written when there is room", "", scene{tmpfs: "size=24m,nr_inodes=400", stays: true}, useUpInodes},
	{"fork-many", "start 150 processes that ignore signals, each in a session of its own, and exit", prevented, prevented, "the supervisor adopts and kills them", "", scene{}, forkMany},
	{"ignore-signals", "ignore SIGINT and SIGTERM when its time is over", prevented, prevented, "the supervisor kills", "", scene{timeout: "1s", stays: true}, ignoreSignals},
	{"outlive", "leave a process behind through `env -i setsid` and a double fork", prevented, prevented, "the supervisor adopts and kills it", "", scene{}, outlive},
	{"outlive-supervisor", "the same, then kill its supervisor", prevented, prevented, "the control group, and resource limits that processes inherit", "", scene{retries: 1, stays: true}, outliveSupervisor},
	{"outlive-both", "the same, then kill gaffer and its supervisor", prevented, prevented, "the control group, and resource limits that processes inherit", "", scene{retries: 1, stays: true}, outliveBoth},
	{"leave-cgroup", "leave a process behind outside of the attempt's control group, then kill its supervisor", prevented, prevented, "resource limits that processes inherit", "", scene{retries: 1, stays: true}, leaveGroup},
	{"lower-limits", "the same, after lowering the limits", recorded, recorded, "limits cannot be raised again: the task waits", "", scene{retries: 1, stays: true, alone: true}, lowerLimits},
	{"kill-gaffer", "kill the gaffer above", prevented, prevented, "the supervisor goes on; `gaffer resume` adopts the attempt", "", scene{sibling: works}, killGaffer},
	{"kill-supervisor", "kill its supervisor", recorded, recorded, "the attempt is lost, its processes are ended, and it is tried again", "", scene{retries: 1, stays: true}, killSupervisor},
	{"stop-supervisor", "stop its supervisor with SIGSTOP, so that its timeout does not end it", limit, limit, "another user id; `kill -CONT` lets it go on", limits, scene{timeout: "1s"}, stopSupervisor},
	{"read-sibling", "read the memory of the agent of another task", limit, limit, "another user id", limits, scene{sibling: works}, readSibling},
	{"kill-sibling", "kill the agent of another task", recorded, recorded, "its task has failed by a signal", "", scene{sibling: works}, killSibling},

	// Attacks on the terminal.
	{"terminal-escapes", "print a clipboard write, a title, a clear and a link", prevented, prevented, "what agents print is made harmless for a terminal", "", scene{}, printEscapes},
	{"broken-text", "print invalid UTF-8, NUL and every other byte", prevented, prevented, "what agents print is made harmless for a terminal", "", scene{}, printBytes},
	{"huge-line", "print one line of 32 MB", prevented, prevented, "long lines are cut where they are read", "", scene{}, printHugeLine},
	{"endless-log", "print without end", prevented, prevented, "the timeout ends it; without one, nothing limits a log on this machine", "", scene{timeout: "2s"}, printWithoutEnd},
	{"forged-lines", "print lines that look like gaffer's own", prevented, prevented, "they are shown as what the task said", "", scene{}, printForgedLines},
}
