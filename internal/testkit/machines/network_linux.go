package machines

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"testing"
)

// Network is machines that reach each other through a switch. It has no way to
// any other network.
type Network struct {
	// Homes is the folder for the homes of machines that are added from now on. They
	// stay there when the test ends. Without it they are temporary.
	Homes string

	t    testing.TB
	hub  *space
	last int // number of the machine that was made last
}

// New makes a network without machines, or skips the test if the kernel refuses.
func New(t testing.TB) *Network {
	t.Helper()
	hub, err := newSpace("switch")
	if err != nil {
		refused(t, err)
	}
	t.Cleanup(hub.end)
	n := &Network{t: t, hub: hub}
	n.ip(hub, "link add name bridge type bridge")
	n.ip(hub, "link set bridge up")
	return n
}

// Machine is a computer of a network.
type Machine struct {
	Name    string
	Address string // by which the others reach it
	Home    string // a folder of its own

	*space
	network *Network
	port    string // its end of the cable at the switch
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
	n.t.Cleanup(m.show)
	n.t.Cleanup(s.end)
	n.ip(n.hub, "link add name %s type veth peer name eth0 netns %d", m.port, s.pid())
	n.ip(n.hub, "link set %s master bridge up", m.port)
	n.ip(s, "address add %s/24 dev eth0", m.Address)
	n.ip(s, "link set eth0 up")
	return m
}

// Cut is a way in which a machine can be cut off.
type Cut string

const (
	// Unplugged is a network that the machine itself knows to be away.
	Unplugged Cut = "unplugged"
	// Lost is a network that takes what is sent and delivers nothing.
	Lost Cut = "lost"
)

// Cut cuts the machine off. Nobody is told: connections stay open.
func (m *Machine) Cut(how Cut) {
	m.network.t.Helper()
	if how == Unplugged {
		m.network.ip(m.space, "link set eth0 down")
		return
	}
	m.network.ip(m.network.hub, "link set %s nomaster", m.port)
}

// Mend undoes every cut.
func (m *Machine) Mend() {
	m.network.t.Helper()
	m.network.ip(m.network.hub, "link set %s master bridge", m.port)
	m.network.ip(m.space, "link set eth0 up")
}

// show shows the end of what the machine's programs have said, if the test has
// failed.
func (m *Machine) show() {
	if m.network.t.Failed() {
		m.network.t.Logf("%s said:\n%s", m.Name, m.Said(6000))
	}
}
