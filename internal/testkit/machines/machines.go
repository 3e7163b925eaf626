// Package machines creates simulated machines for tests: sets of Linux namespaces with their own
// network, processes and host name. A test can disconnect machines from each other. When the test
// ends or is killed, its machines end with all their processes. A package that uses machines needs
// this TestMain:
//
//	func TestMain(m *testing.M) { os.Exit(machines.Main(m)) }
package machines
