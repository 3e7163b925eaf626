package agentproc

import (
	"bytes"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// Agents lists the processes of this user that are agents with a terminal.
func Agents() []Process {
	var list []Process
	for _, pid := range pids() {
		if !mayBeAgent(nameOfProcess(pid)) {
			continue
		}
		p, ok := Look(pid)
		if !ok || p.Terminal == 0 || p.State == 'Z' || !mine(pid) {
			continue
		}
		if p.Program = p.agent(); p.Program != "" {
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
	fd, err := syscall.Open(string(name), syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return ""
	}
	var buf [64]byte
	n, err := syscall.Read(fd, buf[:])
	_ = syscall.Close(fd) // nothing was written to it
	if err != nil || n <= 0 {
		return ""
	}
	return strings.TrimSuffix(string(buf[:n]), "\n")
}

// Look reads /proc/PID/stat.
func Look(pid int) (Process, bool) {
	var buf [1024]byte
	fd, err := syscall.Open("/proc/"+strconv.Itoa(pid)+"/stat", syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return Process{}, false
	}
	n, err := syscall.Read(fd, buf[:])
	_ = syscall.Close(fd) // nothing was written to it
	if err != nil {
		return Process{}, false
	}
	return parseStat(pid, buf[:n])
}

// parseStat reads a stat file. The program's name stands in brackets and may
// itself hold spaces and brackets. After it come the state, the parent, the
// group, the session, the terminal, and as the 20th field the start.
func parseStat(pid int, stat []byte) (Process, bool) {
	open, end := bytes.IndexByte(stat, '('), bytes.LastIndexByte(stat, ')')
	if open < 0 || end < open {
		return Process{}, false
	}
	p := Process{PID: pid, Name: string(stat[open+1 : end])}
	fields := bytes.Fields(stat[end+1:])
	if len(fields) < 20 {
		return Process{}, false
	}
	var err1, err2, err3 error
	p.State = fields[0][0]
	p.Parent, err1 = strconv.Atoi(string(fields[1]))
	terminal, err2 := strconv.ParseInt(string(fields[4]), 10, 64)
	p.Start, err3 = strconv.ParseUint(string(fields[19]), 10, 64)
	p.Terminal = uint64(uint32(terminal))
	return p, err1 == nil && err2 == nil && err3 == nil
}

// hosts are the programs that run agents written in JavaScript, by the names that
// their processes have.
var hosts = []string{"node", "MainThread", "bun", "node-MainThread"}

func mayBeAgent(name string) bool { return IsProgram(name) || slices.Contains(hosts, name) }

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
func (p Process) agent() string { return p.agentOf(arguments(p.PID)) }

func (p Process) agentOf(words []string) string {
	program := p.Name
	if !IsProgram(program) {
		if program, words = script(words); program == "" {
			return ""
		}
	} else if len(words) > 0 {
		words = words[1:]
	}
	if program == Codex && p.Name != Codex { // the launcher, whose child is the agent
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
			name := strings.TrimSuffix(strings.TrimSuffix(base(w), ".js"), ".mjs")
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
	const most = 200
	var words []string
	for _, w := range bytes.SplitN(bytes.TrimSuffix(data, []byte{0}), []byte{0}, most+1) {
		words = append(words, string(w))
	}
	return words[:min(len(words), most)]
}

// readProc reads a file of a process, at most so much of it.
func readProc(pid int, name string, most int) []byte {
	fd, err := syscall.Open("/proc/"+strconv.Itoa(pid)+"/"+name, syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return nil
	}
	defer func() { _ = syscall.Close(fd) }() // nothing was written to it
	data := make([]byte, 0, min(most, 4<<10))
	for len(data) < most {
		data = slices.Grow(data, min(most-len(data), 4<<10))
		n, err := syscall.Read(fd, data[len(data):min(cap(data), most)])
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
func outermost(list []Process) []Process {
	by := map[int]Process{}
	for _, p := range list {
		by[p.PID] = p
	}
	var kept []Process
	for _, p := range list {
		parent, below := by[p.Parent]
		same := below && parent.Program == p.Program && parent.Terminal == p.Terminal
		above := slices.ContainsFunc(list, func(c Process) bool {
			return c.Parent == p.PID && c.Program == p.Program && c.Terminal == p.Terminal
		})
		if p.Program == Gemini && above || p.Program != Gemini && same {
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
		p, ok := Look(pid)
		if !ok || pid <= 1 {
			return 0
		}
		if p.Name == program || mayBeAgent(p.Name) {
			words := arguments(pid)
			if slices.Contains(words, "app-server") {
				return 0
			}
			if p.Name == program {
				return pid
			}
			if found, _ := script(words); found == program && program != Codex {
				return pid
			}
		}
		pid = p.Parent
	}
	return 0
}

// ProgramOf is the agent program that a process is, in whatever mode it runs, or "".
// Unlike [Agents] it also knows agents without a terminal, and the servers that
// agents are made of.
func ProgramOf(pid int) string {
	name := nameOfProcess(pid)
	if IsProgram(name) || name == opencode {
		return name
	}
	if !mayBeAgent(name) {
		return ""
	}
	program, _ := script(arguments(pid))
	return program
}

// opencode has no hooks and no notes that we read: it is not among the [Programs].
const opencode = "opencode"

// Children lists the processes that a process has started or adopted.
func Children(pid int) (list []int) {
	for _, other := range pids() {
		if p, ok := Look(other); ok && p.Parent == pid {
			list = append(list, other)
		}
	}
	return list
}

// Arguments are the words of a process's command line, the first 200 at most.
func Arguments(pid int) []string { return arguments(pid) }

// Environ is what a process was started with. The last value of a name counts.
func Environ(pid int) map[string]string {
	found := map[string]string{}
	for v := range bytes.SplitSeq(readProc(pid, "environ", 1<<20), []byte{0}) {
		if name, value, ok := bytes.Cut(v, []byte{'='}); ok {
			found[string(name)] = string(value)
		}
	}
	return found
}

// Variables are those of the environment that a process was started with, of the
// given names.
func Variables(pid int, names ...string) map[string]string {
	found := map[string]string{}
	for v := range bytes.SplitSeq(readProc(pid, "environ", 256<<10), []byte{0}) {
		name, value, _ := bytes.Cut(v, []byte{'='})
		if slices.Contains(names, string(name)) {
			found[string(name)] = string(value)
		}
	}
	return found
}

// FolderOf is where a process works.
func FolderOf(pid int) string {
	dir, err := os.Readlink("/proc/" + strconv.Itoa(pid) + "/cwd")
	if err != nil {
		return ""
	}
	return strings.TrimSuffix(dir, " (deleted)")
}

// RolloutOf is the rollout that a process has open, if it has one.
func RolloutOf(pid int) string {
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
		if err != nil || !strings.HasSuffix(path, ".jsonl") || !strings.HasPrefix(base(path), "rollout-") {
			continue
		}
		newest = max(newest, path) // their names begin with the time
	}
	return newest
}

// DeviceOf is the device of a terminal, as processes name it.
func DeviceOf(path string) uint64 {
	info, err := os.Stat(path)
	if err != nil {
		return 0
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0
	}
	return stat.Rdev & 0xffffffff // what a process says has room for no more
}

func base(path string) string { return path[strings.LastIndexByte(path, '/')+1:] }
