package machines

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"testing"
)

// Network is a set of machines that are connected by a switch. They cannot reach any other network.
type Network struct {
	// Homes is the folder for the machines' home folders, which are kept after the test. If Homes
	// is empty, the home folders are temporary.
	Homes string

	t    testing.TB
	hub  *space
	last int // number of machines that were added so far
}

// New returns a network without machines. If the kernel refuses to create simulated machines, New
// skips the test. In CI it fails the test instead.
func New(t testing.TB) *Network {
	t.Helper()
	hub, err := newSpace("switch")
	if err != nil {
		skipOrFail(t, err)
	}
	t.Cleanup(hub.end)
	n := &Network{t: t, hub: hub}
	n.ip(hub, "link add name bridge type bridge")
	n.ip(hub, "link set bridge up")
	return n
}

// Machine is a simulated machine in a network.
type Machine struct {
	Name    string
	Address string // IP address at which other machines reach this one
	Home    string // path of the home folder

	*space
	network *Network
	port    string // name of the machine's port at the switch
}

// Machine adds a machine to the network.
func (n *Network) Machine(name string) *Machine {
	n.t.Helper()
	home := filepath.Join(n.Homes, name)
	if n.Homes == "" {
		home = n.t.TempDir()
	} else if err := os.Mkdir(home, 0o755); err != nil {
		n.t.Fatal(err)
	}
	s, err := newSpace(name)
	if err != nil {
		n.t.Fatalf("machine %s: %v", name, err)
	}
	n.last++
	m := &Machine{Name: name, Address: fmt.Sprintf("10.77.0.%d", n.last), Home: home, space: s, network: n, port: "port" + strconv.Itoa(n.last)}
	n.t.Cleanup(m.logOutput)
	n.t.Cleanup(s.end)
	n.ip(n.hub, "link add name %s type veth peer name eth0 netns %d", m.port, s.pid())
	n.ip(n.hub, "link set %s master bridge up", m.port)
	n.ip(s, "address add %s/24 dev eth0", m.Address)
	n.ip(s, "link set eth0 up")
	return m
}

// Cut says how a machine is disconnected.
type Cut string

const (
	// Unplugged means that the machine's network interface is taken down. The machine's kernel
	// notices this.
	Unplugged Cut = "unplugged"
	// Lost means that the switch drops all packets to and from the machine. The machine's kernel
	// does not notice this.
	Lost Cut = "lost"
)

// Cut disconnects the machine from the network. Programs are not notified, so their connections
// stay open.
func (m *Machine) Cut(how Cut) {
	m.network.t.Helper()
	if how == Unplugged {
		m.network.ip(m.space, "link set eth0 down")
		return
	}
	m.network.ip(m.network.hub, "link set %s nomaster", m.port)
}

// Reconnect connects the machine to the network again.
func (m *Machine) Reconnect() {
	m.network.t.Helper()
	m.network.ip(m.network.hub, "link set %s master bridge", m.port)
	m.network.ip(m.space, "link set eth0 up")
}

// logOutput logs the last part of the machine's output if the test has failed.
func (m *Machine) logOutput() {
	if m.network.t.Failed() {
		m.network.t.Logf("%s said:\n%s", m.Name, m.Output(6000))
	}
}
