// Package machines makes machines for tests: namespaces of Linux that have a
// network, processes and a name of their own, and that can be cut off from each
// other. A machine ends with all its processes when the test ends, or is killed.
//
//	func TestMain(m *testing.M) { os.Exit(machines.Main(m)) }
package machines
