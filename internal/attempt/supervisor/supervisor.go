// Package supervisor runs one agent process and supervises it. The supervisor is a
// separate process in its own session and outlives the process that started it. It
// owns the agent's stdin and log, ends the agent together with all its descendants,
// and durably records how the agent ended.
//
// The package has two halves. [Main] is the supervisor process. [Start], [Pool],
// [Attach] and [Process] are for the program that wants to run an agent. If that
// program crashes, another program can call Attach and continue.
//
// Each attempt has a folder with these files:
//
//	lock         held by the process that starts the attempt, then by the supervisor
//	             until the attempt is over. It contains one JSON record per line:
//	             the spec; the supervisor's identity, written before an agent can
//	             exist; when the agent was frozen and thawed; and how it ended, which
//	             is durable before the lock is released. The supervisor's stderr,
//	             such as a crash report, is in the same file.
//	started.json the process ids of the supervisor and the agent
//	socket       accepts orders from clients
//
// The supervisor creates started.json and the socket only after the agent has run for
// 100 ms, because shorter programs need neither. At that time it also syncs the
// directory entries of the folder and the lock to disk. If the process that started the
// attempt disconnects earlier, the supervisor does all this at once. The delay is safe
// because, while that process is connected, it receives the exit directly and stores it
// itself.
//
// A process that acquires the lock and finds no exit record knows that the attempt is
// lost. The reason is that the lock is passed to the supervisor as an open file, so it is
// held without a gap until the exit is recorded, unless the process that holds it dies.
// Before the process reports the attempt as lost, it ends all remaining processes
// of the attempt and writes an exit record into the lock. A supervisor that finds an
// exit record starts no agent. The attempt is reported as lost only if it is proved
// that none of its processes is alive (see [Remains]). Normally the proof is that the
// attempt's control group, if it has one, is empty, and that no other live process may
// belong to the attempt, judged by its environment, resource limits, parent and session.
//
// An agent may have a lease ([Spec.Until], [Process.Extend]). When the lease ends, the
// supervisor freezes the agent and all its descendants. So an agent whose worker is
// dead or disconnected does nothing while another worker may be doing the same task.
// If the lease is extended later, the agent continues where it was. A frozen agent can
// only be killed, because it would have to run to handle any other signal.
//
// A supervisor handles one attempt at a time. A supervisor that belongs to a Pool may
// get another attempt after all processes of the previous one have ended and the exit
// is recorded. It leaves the previous folder, socket and lock before it enters the
// next folder. The next lock is also passed as an open file, over a connection, so the
// rules above hold however a supervisor got its attempt. If the supervisor dies during
// a handover, the starter reads the lock. If the lock contains no supervisor's record, the
// attempt certainly had no agent, and the starter tries another supervisor.
//
// A Pool may also reuse the folder of one of its finished attempts. It truncates the
// lock and writes the next spec while it holds the lock, and then renames the folder.
//
// A supervisor may be started in a terminal that users watch. [Pool.StartIn] runs a
// program in the terminal. The program calls [Host], which starts a supervisor. Then
// StartIn hands the attempt over to that supervisor. The supervisor is a child of the
// program but does not use the terminal.
//
// Other programs may start a supervisor without Start. They run "gaffer supervise"
// with a folder that contains a spec.json. The supervisor then takes the lock itself
// and uses its own environment as the agent's.
package supervisor
