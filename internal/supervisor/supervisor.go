// Package supervisor runs one agent process and looks after it. The supervisor
// is a process of its own, in its own session, that outlives whoever started it:
// it owns the agent's stdin and log, ends it with everything it has started, and
// records durably how it ended.
//
// There are two halves. [Main] is the supervisor process. [Start], [Attach] and
// [Process] are for the program that wants an agent run; after a crash another
// one takes over where it was.
//
// Each attempt has a folder, in which are:
//
//	spec.json    what to run
//	lock         held by the supervisor as long as it lives, and before that by who starts it
//	socket       where it takes orders
//	started.json who runs: the supervisor and the agent
//	exit.json    how it ended; durable before the lock is free
//
// Who gets the lock and finds no exit.json knows that the attempt is lost, and
// that no supervisor of it will ever start: the lock is passed on to the
// supervisor as an open file, without a gap.
package supervisor
