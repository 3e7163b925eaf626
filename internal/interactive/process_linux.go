package interactive

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// process is a process as /proc has it.
type process struct {
	pid, parent int
	name        string // of its program, 15 bytes at the most
	start       uint64 // clock ticks since boot
	terminal    uint64 // the device, 0 for none
	state       byte
	program     string // which agent it is, empty for none
}

// agents lists the processes of this user that are agents with a terminal.
func agents() []process {
	var list []process
	for _, pid := range pids() {
		if !mayBeAgent(nameOfProcess(pid)) {
			continue
		}
		p, ok := look(pid)
		if !ok || p.terminal == 0 || p.state == 'Z' || !mine(pid) {
			continue
		}
		if p.program = p.agent(); p.program != "" {
			list = append(list, p)
		}
	}
	return outermost(list)
}

func pids() []int {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer func() { _ = dir.Close() }() // nothing was written to it
	names, _ := dir.Readdirnames(-1)   // what was read before an error counts
	list := make([]int, 0, len(names))
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err == nil {
			list = append(list, pid)
		}
	}
	return list
}

// nameOfProcess is the name of its program. It is asked of every process of the
// machine at every look, and is what costs the system least.
func nameOfProcess(pid int) string {
	var path [32]byte
	name := append(strconv.AppendInt(append(path[:0], "/proc/"...), int64(pid), 10), "/comm"...)
	fd, err := unix.Open(string(name), unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return ""
	}
	var buf [64]byte
	n, err := unix.Read(fd, buf[:])
	_ = unix.Close(fd) // nothing was written to it
	if err != nil || n <= 0 {
		return ""
	}
	return strings.TrimSuffix(string(buf[:n]), "\n")
}

// look reads /proc/PID/stat.
func look(pid int) (process, bool) {
	var buf [1024]byte
	fd, err := unix.Open("/proc/"+strconv.Itoa(pid)+"/stat", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return process{}, false
	}
	n, err := unix.Read(fd, buf[:])
	_ = unix.Close(fd) // nothing was written to it
	if err != nil {
		return process{}, false
	}
	return parseStat(pid, buf[:n])
}

// parseStat reads a stat file. The program's name stands in brackets and may
// itself hold spaces and brackets. After it come the state, the parent, the
// group, the session, the terminal, and as the 20th field the start.
func parseStat(pid int, stat []byte) (process, bool) {
	open, end := bytes.IndexByte(stat, '('), bytes.LastIndexByte(stat, ')')
	if open < 0 || end < open {
		return process{}, false
	}
	p := process{pid: pid, name: string(stat[open+1 : end])}
	fields := bytes.Fields(stat[end+1:])
	if len(fields) < 20 {
		return process{}, false
	}
	var err1, err2, err3 error
	p.state = fields[0][0]
	p.parent, err1 = strconv.Atoi(string(fields[1]))
	terminal, err2 := strconv.ParseInt(string(fields[4]), 10, 64)
	p.start, err3 = strconv.ParseUint(string(fields[19]), 10, 64)
	p.terminal = uint64(uint32(terminal))
	return p, err1 == nil && err2 == nil && err3 == nil
}

// hosts are the programs that run agents written in JavaScript, by the names that
// their processes have.
var hosts = []string{"node", "MainThread", "bun", "node-MainThread"}

func mayBeAgent(name string) bool { return isProgram(name) || slices.Contains(hosts, name) }

// mine tells whether this user owns the process.
func mine(pid int) bool {
	info, err := os.Stat("/proc/" + strconv.Itoa(pid))
	if err != nil {
		return false
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(stat.Uid) == os.Geteuid()
}

// agent tells which agent a process is that may be one, if a person uses it.
func (p process) agent() string { return p.agentOf(arguments(p.pid)) }

func (p process) agentOf(words []string) string {
	program := p.name
	if !isProgram(program) {
		if program, words = script(words); program == "" {
			return ""
		}
	} else if len(words) > 0 {
		words = words[1:]
	}
	if program == Codex && p.name != Codex { // the launcher, whose child is the agent
		return ""
	}
	if serves(program, words) {
		return ""
	}
	return program
}

// script is the agent that an interpreter runs, and what that was told.
func script(words []string) (program string, rest []string) {
	for i, w := range words {
		if i == 0 || strings.HasPrefix(w, "-") {
			continue
		}
		for _, program := range Programs() {
			name := strings.TrimSuffix(strings.TrimSuffix(filepath.Base(w), ".js"), ".mjs")
			if name == program || strings.Contains(w, "/"+program+"-cli/") || strings.Contains(w, "/"+program+"-code/") {
				return program, words[i+1:]
			}
		}
		return "", nil
	}
	return "", nil
}

// serves tells whether the words after a program's name make it something else
// than an agent that a person talks to.
func serves(program string, words []string) bool {
	subcommands := map[string][]string{
		Claude: {"mcp", "agents", "doctor", "update", "install", "config", "plugin", "setup-token", "daemon"},
		Codex:  {"exec", "e", "app-server", "mcp", "mcp-server", "login", "logout", "sandbox", "proto", "cloud", "completion", "features"},
		Gemini: {"mcp", "extensions", "hooks", "skills"},
	}
	if len(words) > 0 && slices.Contains(subcommands[program], words[0]) {
		return true
	}
	flags := map[string][]string{Claude: {"-p", "--print"}, Gemini: {"-p", "--prompt"}}
	return slices.ContainsFunc(words, func(w string) bool { return slices.Contains(flags[program], w) }) ||
		slices.Contains(words, "app-server")
}

// arguments are the words of a process's command line, as far as they matter.
func arguments(pid int) []string {
	data := readProc(pid, "cmdline", 16<<10)
	words := strings.Split(strings.TrimSuffix(string(data), "\x00"), "\x00")
	return words[:min(len(words), 200)]
}

// readProc reads a file of a process, at most so much of it.
func readProc(pid int, name string, most int) []byte {
	fd, err := unix.Open("/proc/"+strconv.Itoa(pid)+"/"+name, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil
	}
	defer func() { _ = unix.Close(fd) }() // nothing was written to it
	data := make([]byte, 0, min(most, 4<<10))
	for len(data) < most {
		data = slices.Grow(data, min(most-len(data), 4<<10))
		n, err := unix.Read(fd, data[len(data):min(cap(data), most)])
		if n <= 0 || err != nil {
			break
		}
		data = data[:len(data)+n]
	}
	return data
}

// outermost leaves out an agent below another of the same program on the same
// terminal, which is a part of it. Of Gemini the inner one is the agent: it
// starts itself again.
func outermost(list []process) []process {
	by := map[int]process{}
	for _, p := range list {
		by[p.pid] = p
	}
	var kept []process
	for _, p := range list {
		parent, below := by[p.parent]
		same := below && parent.program == p.program && parent.terminal == p.terminal
		above := slices.ContainsFunc(list, func(c process) bool {
			return c.parent == p.pid && c.program == p.program && c.terminal == p.terminal
		})
		if p.program == Gemini && above || p.program != Gemini && same {
			continue
		}
		kept = append(kept, p)
	}
	return kept
}

// Ancestor is the agent of a program that has started this process, directly or
// through others. It is 0 if there is none that is one agent's alone: a server
// of Codex runs the hooks of everybody.
func Ancestor(program string) int {
	const most = 12
	pid := os.Getppid()
	for range most {
		p, ok := look(pid)
		if !ok || pid <= 1 {
			return 0
		}
		if p.name == program || mayBeAgent(p.name) {
			words := arguments(pid)
			if slices.Contains(words, "app-server") {
				return 0
			}
			if p.name == program {
				return pid
			}
			if found, _ := script(words); found == program && program != Codex {
				return pid
			}
		}
		pid = p.parent
	}
	return 0
}

// variables are those of the environment that a process was started with, of the
// given names.
func variables(pid int, names ...string) map[string]string {
	found := map[string]string{}
	for v := range bytes.SplitSeq(readProc(pid, "environ", 256<<10), []byte{0}) {
		name, value, _ := bytes.Cut(v, []byte{'='})
		if slices.Contains(names, string(name)) {
			found[string(name)] = string(value)
		}
	}
	return found
}

// folderOf is where a process works.
func folderOf(pid int) string {
	dir, err := os.Readlink("/proc/" + strconv.Itoa(pid) + "/cwd")
	if err != nil {
		return ""
	}
	return strings.TrimSuffix(dir, " (deleted)")
}

// rolloutOf is the rollout that a process has open, if it has one.
func rolloutOf(pid int) string {
	folder := "/proc/" + strconv.Itoa(pid) + "/fd"
	dir, err := os.Open(folder)
	if err != nil {
		return ""
	}
	defer func() { _ = dir.Close() }() // nothing was written to it
	const most = 512
	names, _ := dir.Readdirnames(most)
	newest := ""
	for _, name := range names {
		path, err := os.Readlink(folder + "/" + name)
		if err != nil || !strings.HasSuffix(path, ".jsonl") || !strings.HasPrefix(filepath.Base(path), "rollout-") {
			continue
		}
		newest = max(newest, path) // their names begin with the time
	}
	return newest
}

// deviceOf is the device of a terminal, as processes name it.
func deviceOf(path string) uint64 {
	info, err := os.Stat(path)
	if err != nil {
		return 0
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0
	}
	major, minor := uint64(unix.Major(stat.Rdev)), uint64(unix.Minor(stat.Rdev))
	return minor&0xff | major<<8 | (minor&^0xff)<<12
}
