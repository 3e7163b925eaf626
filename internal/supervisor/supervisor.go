// Package supervisor runs one agent process and looks after it. The supervisor
// is a process of its own, in its own session, that outlives whoever started it:
// it owns the agent's stdin and log, ends it with everything it has started, and
// records durably how it ended.
//
// There are two halves. [Main] is the supervisor process. [Start], [Pool],
// [Attach] and [Process] are for the program that wants an agent run; after a
// crash another one takes over where it was.
//
// Each attempt has a folder, in which are:
//
//	spec.json    what to run
//	lock         held by the supervisor until the attempt is over, and before
//	             that by who starts it; it has text in it as soon as there may be
//	             an agent: who holds it, and what that said in a crash
//	started.json who runs: the supervisor and the agent
//	socket       where it takes orders
//	exit.json    how it ended; durable before the lock is free
//
// The supervisor makes started.json and the socket when the agent has run for a
// moment, or when whoever started it is gone: most attempts of short programs
// need neither.
//
// Who gets the lock and finds no exit.json knows that the attempt is lost: the
// lock is passed on to the supervisor as an open file, without a gap. Before it
// says so it ends what the attempt has left behind and writes that into
// exit.json; a supervisor that finds an exit.json does not start.
//
// A supervisor looks after one attempt at a time. One that belongs to a Pool may be
// given another when all of the last has ended and is on record: it leaves the
// folder, its socket and its lock behind before it enters the next. The lock of
// that is passed on to it in the same way, over a connection, so that it makes no
// difference to anybody how a supervisor has come by its attempt. Who hands an
// attempt over and finds the supervisor dead looks into the lock before it tries
// another: only one that has no text in it has had no agent.
//
// A supervisor may be started in a terminal that people look at: [Pool.StartIn]
// has a program run there that calls [Host], and hands the attempt over to the
// supervisor which that starts. It has nothing of the terminal but its parent.
//
// Start is not the only way to start a supervisor. Whatever runs the program
// with a folder that has a spec.json may do so: the supervisor takes the lock
// itself if it is not given, and takes the environment it has for the agent's.
package supervisor
