package hosttest

import (
	"context"
	"io"
	"io/fs"
	"iter"
	"time"

	"gaffer/statefile/host"
)

// Process is one process of a [Machine]. It implements [host.Host].
type Process struct {
	machine   *Machine
	id        host.Process
	dead      bool
	scheduled bool // true if each operation of the process waits until Machine.Run selects it
}

var _ host.Host = (*Process)(nil)

// step executes one disk operation, the function do. If the process has threads, it first waits
// until [Machine.Run] selects the operation. If the process is dead or a fault is due, it returns
// an error instead.
func (p *Process) step(op host.Op, name string, do func(d *disk) error) error {
	m := p.machine
	if c := p.queueUp(); c != nil {
		m.stir()
		<-c.turn
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.injectFault(p, op, name); err != nil {
		return pathError(op, name, err)
	}
	m.disk.now = time.Now()
	return pathError(op, name, do(m.disk))
}

// queueUp queues an operation. The caller must then wait until [Machine.Run] selects the operation
// and closes the channel turn of the returned call. If the process has no threads, the operation
// need not wait, and queueUp returns nil.
func (p *Process) queueUp() *call {
	p.machine.mu.Lock()
	defer p.machine.mu.Unlock()
	if !p.scheduled {
		return nil
	}
	c := &call{turn: make(chan struct{})}
	p.machine.calls = append(p.machine.calls, c)
	return c
}

func pathError(op host.Op, name string, err error) error {
	if err == nil {
		return nil
	}
	return &fs.PathError{Op: string(op), Path: name, Err: err}
}

// Open implements [host.Host].
func (p *Process) Open(op host.Op, name string) (f host.File, err error) {
	err = p.step(op, name, func(d *disk) error {
		n, err := d.lookup(name, true)
		f = &openFile{process: p, node: n, name: name}
		return err
	})
	return f, err
}

// Create implements [host.Host].
func (p *Process) Create(op host.Op, name string, perm fs.FileMode) (f host.File, err error) {
	err = p.step(op, name, func(d *disk) error {
		n := &node{mode: perm, mtime: d.now}
		f = &openFile{process: p, node: n, name: name}
		return d.add(name, n)
	})
	return f, err
}

// CreateComplete implements [host.Host].
func (p *Process) CreateComplete(op host.Op, name string, content []byte, perm fs.FileMode) error {
	return p.step(op, name, func(d *disk) error {
		return d.add(name, &node{mode: perm, mtime: d.now, content: content, synced: content})
	})
}

// Rename implements [host.Host].
func (p *Process) Rename(op host.Op, from, to string) error {
	return p.step(op, from, func(d *disk) error { return d.rename(from, to) })
}

// RenameNew implements [host.Host].
func (p *Process) RenameNew(op host.Op, from, to string) error {
	return p.step(op, from, func(d *disk) error {
		if _, err := d.lookup(to, false); err == nil {
			return fs.ErrExist
		}
		return d.rename(from, to)
	})
}

// Link implements [host.Host].
func (p *Process) Link(op host.Op, from, to string) error {
	return p.step(op, from, func(d *disk) error {
		n, err := d.lookup(from, false)
		if err != nil {
			return err
		}
		return d.add(to, n)
	})
}

// Symlink implements [host.Host].
func (p *Process) Symlink(op host.Op, target, name string) error {
	return p.step(op, name, func(d *disk) error {
		n := &node{mode: fs.ModeSymlink | 0o777, content: []byte(target), mtime: d.now}
		n.synced = n.content
		return d.add(name, n)
	})
}

// Readlink implements [host.Host].
func (p *Process) Readlink(op host.Op, name string) (target string, err error) {
	err = p.step(op, name, func(d *disk) error {
		n, err := d.lookup(name, false)
		if err != nil {
			return err
		}
		if n.mode&fs.ModeSymlink == 0 {
			return fs.ErrInvalid
		}
		target = string(n.content)
		return nil
	})
	return target, err
}

// Remove implements [host.Host].
func (p *Process) Remove(op host.Op, name string) error {
	return p.step(op, name, func(d *disk) error { return d.remove(name) })
}

// Mkdir implements [host.Host].
func (p *Process) Mkdir(op host.Op, name string, perm fs.FileMode) error {
	return p.step(op, name, func(d *disk) error { return d.add(name, newFolder(perm, d.now)) })
}

// Stat implements [host.Host].
func (p *Process) Stat(op host.Op, name string) (fs.FileInfo, error) { return p.stat(op, name, true) }

// Lstat implements [host.Host].
func (p *Process) Lstat(op host.Op, name string) (fs.FileInfo, error) { return p.stat(op, name, false) }

func (p *Process) stat(op host.Op, name string, follow bool) (info fs.FileInfo, err error) {
	err = p.step(op, name, func(d *disk) error {
		n, err := d.lookup(name, follow)
		if err == nil {
			info = n.info(name)
		}
		return err
	})
	return info, err
}

// ReadDir implements [host.Host].
func (p *Process) ReadDir(op host.Op, name string) (entries []fs.DirEntry, err error) {
	err = p.step(op, name, func(d *disk) error {
		entries, err = d.list(name)
		return err
	})
	return entries, err
}

// Names implements [host.Host].
func (p *Process) Names(op host.Op, name string) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		entries, err := p.ReadDir(op, name)
		if err != nil {
			yield("", err)
			return
		}
		for _, e := range entries {
			if !yield(e.Name(), nil) {
				return
			}
		}
	}
}

// SyncDir implements [host.Host].
func (p *Process) SyncDir(op host.Op, name string) error {
	return p.step(op, name, func(d *disk) error {
		n, err := d.lookup(name, true)
		if err == nil {
			n.syncEntries()
		}
		return err
	})
}

// Now implements [host.Host].
func (p *Process) Now() time.Time { return time.Now() }

// Sleep implements [host.Host].
func (p *Process) Sleep(ctx context.Context, d time.Duration) error {
	if p.isDead() {
		return ErrDead
	}
	return host.OS().Sleep(ctx, d)
}

func (p *Process) isDead() bool {
	p.machine.mu.Lock()
	defer p.machine.mu.Unlock()
	return p.dead
}

// Self implements [host.Host].
func (p *Process) Self() host.Process { return p.id }

// Alive implements [host.Host].
func (p *Process) Alive(id host.Process) host.Liveness {
	p.machine.mu.Lock()
	defer p.machine.mu.Unlock()
	for _, other := range p.machine.procs {
		if other.id == id && !other.dead {
			return host.Alive
		}
	}
	return host.Dead
}

// kernelLock is a simulated advisory lock. When it is released, all waiting processes wake up and try
// to take it.
type kernelLock struct {
	holder *Process
	freed  chan struct{} // closed when the current holder releases the lock
}

func (l *kernelLock) free() {
	l.holder = nil
	close(l.freed)
	l.freed = make(chan struct{})
}

// Lock implements [host.Host].
func (p *Process) Lock(ctx context.Context, op host.Op, name string) (host.Lock, error) {
	for {
		var lock *kernelLock
		var freed chan struct{}
		err := p.step(op, name, func(d *disk) error {
			if _, err := d.lookup(name, true); err != nil {
				if err := d.add(name, &node{mode: 0o666, mtime: d.now}); err != nil {
					return err
				}
			}
			lock = p.machine.lockCalled(name)
			if lock.holder == nil {
				lock.holder = p
				return nil
			}
			freed = lock.freed
			return nil
		})
		if err != nil {
			return nil, err
		}
		if freed == nil {
			return &heldLock{process: p, lock: lock}, nil
		}
		select {
		case <-freed:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

func (m *Machine) lockCalled(name string) *kernelLock {
	if m.locks[name] == nil {
		m.locks[name] = &kernelLock{freed: make(chan struct{})}
	}
	return m.locks[name]
}

type heldLock struct {
	process *Process
	lock    *kernelLock
}

func (l *heldLock) Unlock() error {
	m := l.process.machine
	m.mu.Lock()
	defer m.mu.Unlock()
	if l.lock.holder == l.process && !l.process.dead {
		l.lock.free()
	}
	return nil
}

// openFile is a file that a simulated process has opened. It implements [host.File].
type openFile struct {
	process *Process
	node    *node
	name    string
	at      int
}

func (f *openFile) Read(b []byte) (int, error) {
	if f.at >= len(f.node.content) {
		return 0, io.EOF
	}
	n := copy(b, f.node.content[f.at:])
	f.at += n
	return n, nil
}

// Write writes b in two steps, so that a crash can occur between them.
func (f *openFile) Write(op host.Op, b []byte) error {
	for _, half := range [][]byte{b[:len(b)/2], b[len(b)/2:]} {
		err := f.process.step(op, f.name, func(d *disk) error {
			f.node.content = append(f.node.content[:len(f.node.content):len(f.node.content)], half...)
			f.node.mtime = d.now
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (f *openFile) Stat() (fs.FileInfo, error) { return f.node.info(f.name), nil }

func (f *openFile) Chmod(op host.Op, mode fs.FileMode) error {
	return f.process.step(op, f.name, func(*disk) error { f.node.mode = mode; return nil })
}

func (f *openFile) Chown(host.Op, int, int) error { return nil }

func (f *openFile) Sync(op host.Op) error {
	return f.process.step(op, f.name, func(*disk) error { f.node.synced = f.node.content; return nil })
}

func (f *openFile) Close() error { return nil }
