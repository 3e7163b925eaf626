package main

// page describes one page of the documentation that this command makes from figures.
type page struct {
	name     string // the NAME in the paths docs/NAME.json and docs/NAME.md
	title    string
	command  string // the command that measures all sections
	intro    string
	sections []section
	closing  func(p page, r results) string // returns the text after the sections; nil if there is none
}

// section is a section of a page. It answers one question of a user with the figures of its
// measures.
type section struct {
	name     string
	title    string
	text     string
	measures []measure
}

// measure describes one measured property, such as the memory of idle agents.
type measure struct {
	id      string
	title   string
	unit    string
	size    string // unit of the sizes, such as "tasks"; empty if there are no sizes
	more    bool   // a larger value is better; if false, a smaller one
	plain   bool   // no plot
	neutral bool   // neither larger nor smaller values are better
	reason  string // why gaffer is behind other programs in this measure
}

func pages() []page { return []page{benchmarks(), scale()} }

func (p page) order() (names []string) {
	for _, s := range p.sections {
		names = append(names, s.name)
	}
	return names
}

func benchmarks() page {
	return page{
		name: "benchmarks", title: "Benchmarks", command: "script/bench all", closing: whereBehind,
		intro: `Gaffer beside the programs that users would choose instead, and beside the least work that any program must do on this
machine (a limit). All programs of a section are measured in the same run: compare them with each other, and with nothing else. The
column "÷ gaffer" is the value of a program divided by the value in gaffer's first row, at the largest size that both have.
[Where gaffer is behind](#where-gaffer-is-behind) lists each figure in which another program is better. All programs have the same
sizes, and gaffer has its default settings.`,
		sections: []section{
			{
				name: "run", title: "What does a trivial task cost?",
				text: `Each task runs the program true, and two tasks run at the same time. Gaffer does for each task what it always does: durable state,
a supervisor, a log, documents and records. The other programs keep no state that survives a crash. The limits: starting true with
fork and exec, two at the same time, and one synced write of 4 KiB after the other, one for each task.`,
				measures: []measure{
					{
						id: "run.time", title: "Time for each task", unit: "ms", size: "tasks",
						reason: `Before a task begins and after it ends, gaffer commits its state to the database and waits until the disk has it. It also
writes a log, a record and the session document for each task. The other programs do none of that: after a crash they start again
from the beginning. A coding agent works for minutes, so a few milliseconds for a task are below one part in ten thousand.`,
					},
					{
						id: "run.memory", title: "Largest process", unit: "MB", size: "tasks",
						reason: `Gaffer is one program with a database engine, an HTTP server and terminal screens.`,
					},
				},
			},
			{
				name: "idle", title: "What do idle agents cost?",
				text: `Each agent is the program sleep. Memory is the sum of the proportional set sizes (PSS) of all processes that the program has
started, the agents included; CPU is the processor time of the same processes. In tmux each agent has a window; nohup runs each
agent below a shell. The limit is the program sleep alone.`,
				measures: []measure{
					{
						id: "idle.memory", title: "Memory", unit: "MB", size: "agents",
						reason: `Gaffer keeps a supervisor beside each agent. The supervisor outlives gaffer, collects the output, enforces time limits and ends
all processes of the agent. A shell or tmux does not.`,
					},
					{
						id: "idle.cpu", title: "CPU", unit: "% of a core", size: "agents",
						reason: `Gaffer sends heartbeats for its agents, and looks at their processes and logs. tmux and the shell wait and do nothing.`,
					},
					{id: "idle.processes", title: "Processes", unit: "processes", size: "agents", plain: true, reason: `The supervisors are processes of their own.`},
				},
			},
			{
				name: "coordinator", title: "How fast does the coordinator hand out and finish tasks?",
				text: `Tasks that are claimed and finished in one second, with 32 clients. The queue is refilled, so that it keeps its length. Gaffer's
coordinator is measured over HTTP with one request that finishes a task and claims the next, as gaffer's workers send it, and with
two requests, as other agents send them. The load generator shares the machine with it. The other queues are called in the process that
measures, without HTTP; "gaffer's engine" is gaffer called in the same way. Each claim and each finish of the bare queues is one
transaction. Of what is called without HTTP the best fifth of a second counts, because the disk is slow at times; of the coordinator all
the time counts. River fetches and completes tasks in batches, and is measured while it empties a queue of 10,000 and more. The limit is
one synced write of 4 KiB after the other: a database can be faster, because one sync may serve several transactions.`,
				measures: []measure{
					{
						id: "coordinator.sqlite", title: "SQLite", unit: "tasks/s", size: "queued tasks", more: true,
						reason: `A bare table in SQLite has no HTTP, no tokens, no events, no leases, no limits and no retries.`,
					},
					{
						id: "coordinator.postgres", title: "PostgreSQL", unit: "tasks/s", size: "queued tasks", more: true,
						reason: `SKIP LOCKED lets many transactions claim at the same time, and River completes tasks in batches. Gaffer decides about one task
after the other, because limits of runs, budgets and accounts need one order, and writes an event for each change.`,
					},
					{
						id: "coordinator.latency", title: "PostgreSQL, 1 ms away", unit: "tasks/s", size: "queued tasks", more: true,
						reason: `Each client of SKIP LOCKED has its own connection, so the clients wait for the network at the same time.`,
					},
				},
			},
			{
				name: "start", title: "What does a hook, a status line or any other command cost?",
				text: `Agent programs wait for each hook, and print the status line again and again. Most hooks and status lines are scripts for
Node, so the start of Node is what they cost at least. The limit is the program true. The figures are medians.`,
				measures: []measure{
					{id: "start.wall", title: "Time", unit: "ms", reason: `A hook that notes something durably waits for the disk.`},
					{id: "start.cpu", title: "Processor time", unit: "ms"},
				},
			},
			{
				name: "documents", title: "How fast are shared documents updated?",
				text: `Several writers update one session document, each another agent in it. The Python writer follows the same protocol, with the
same locks. The limit is the file operations of one durable update, in one process: write a file, sync it, rename it, sync the
folder.`,
				measures: []measure{
					{
						id: "documents.writers", title: "8 agents in the document", unit: "updates/s", size: "writers", more: true,
						reason: `The Python writer does not sync what it writes: after a crash of the machine its last updates may be lost.`,
					},
					{
						id: "documents.agents", title: "4 writers", unit: "updates/s", size: "agents in the document", more: true,
						reason: `The Python writer does not sync what it writes: after a crash of the machine its last updates may be lost.`,
					},
				},
			},
			{
				name: "records", title: "How fast is a report over many records?",
				text: `Each record of a run is a file, and most have a second file with the result. The same counts are made with jq: with one process
for each record, and with one process for all. The limit is reading all files with cat.`,
				measures: []measure{
					{
						id: "records.time", title: "Time", unit: "s", size: "records",
						reason: `With few records the start of a program is all that counts, and gaffer is a larger program than jq.`,
					},
					{
						id: "records.memory", title: "Largest process", unit: "MB", size: "records",
						reason: `With few records the size of the program is all that counts, and gaffer is a larger program than jq.`,
					},
				},
			},
		},
	}
}
