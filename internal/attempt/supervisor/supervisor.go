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
//	lock         held by the supervisor until the attempt is over, and before
//	             that by who starts it. In it stand, each in a line: what to run;
//	             who the supervisor is, as soon as there may be an agent; how it
//	             ended, durable before the lock is free; that it is frozen, and goes
//	             on again; and what the supervisor said in a crash
//	started.json who runs: the supervisor and the agent
//	socket       where it takes orders
//
// The supervisor makes started.json and the socket when the agent has run for a
// moment, or when whoever started it is gone: most attempts of short programs
// need neither. Then it also has the names of the folder and the lock be durable.
// Before that the starter is there to hear of the end, and to make that durable in
// its own way.
//
// Who gets the lock and finds no end in it knows that the attempt is lost: the
// lock is passed on to the supervisor as an open file, without a gap. Before it
// says so it ends what the attempt has left behind and writes that into the lock;
// a supervisor that finds an end there does not start. It says so only if it is
// proved that nothing is left ([Remains]): by the attempt's control group where the
// machine has those, otherwise by what the kernel still knows of its processes.
//
// An agent may have a lease ([Spec.Until], [Process.Extend]). When that is over the
// supervisor freezes it with all below it: so an agent whose gaffer is dead or cut
// off does nothing any more when somebody else may have begun its work, and goes on
// where it was if nobody has. What is frozen is ended by being killed, since to
// follow any other signal it would have to run.
//
// A supervisor looks after one attempt at a time. One that belongs to a Pool may be
// given another when all of the last has ended and is on record: it leaves the
// folder, its socket and its lock behind before it enters the next. The lock of
// that is passed on to it in the same way, over a connection, so that it makes no
// difference to anybody how a supervisor has come by its attempt. Who hands an
// attempt over and finds the supervisor dead looks into the lock before it tries
// another: only one that no supervisor has signed has had no agent.
//
// A folder, too, may be used again, by the pool whose attempt it was: its lock is
// emptied and gets the next spec while it is held, before the folder is renamed.
//
// A supervisor may be started in a terminal that people look at: [Pool.StartIn]
// has a program run there that calls [Host], and hands the attempt over to the
// supervisor which that starts. It has nothing of the terminal but its parent.
//
// Start is not the only way to start a supervisor. Whatever runs the program
// with a folder that has a spec.json may do so: the supervisor takes the lock
// itself if it is not given, and takes the environment it has for the agent's.
package supervisor
