// Package machines creates simulated machines for tests: Linux namespaces that have
// their own network, processes and host name, and that can be disconnected from each
// other. When the test ends or is killed, its machines end with all their processes.
//
//	func TestMain(m *testing.M) { os.Exit(machines.Main(m)) }
package machines
