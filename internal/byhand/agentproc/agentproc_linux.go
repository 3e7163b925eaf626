package agentproc

import (
	"bytes"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// Agents returns the processes in which agents of the current user run interactively in a terminal,
// one process for each agent.
func Agents() []Process {
	var list []Process
	for _, pid := range pids() {
		if !mayBeAgent(nameOfProcess(pid)) {
			continue
		}
		p, ok := Find(pid)
		if !ok || p.Terminal == 0 || p.State == 'Z' || !ownedByUser(pid) {
			continue
		}
		if p.Program = p.interactiveAgent(); p.Program != "" {
			list = append(list, p)
		}
	}
	return withoutParts(list)
}

func pids() []int {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer func() { _ = dir.Close() }() // ignore the error: the folder was only read
	names, _ := dir.Readdirnames(-1)   // ignore an error, and use the names that could be read
	list := make([]int, 0, len(names))
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err == nil {
			list = append(list, pid)
		}
	}
	return list
}

// nameOfProcess returns the name of a process, or "" if it cannot be read. [Agents] calls it for
// every process of the machine. So it reads /proc/PID/comm, which is cheaper to read than
// /proc/PID/stat.
func nameOfProcess(pid int) string {
	var path [32]byte
	name := append(strconv.AppendInt(append(path[:0], "/proc/"...), int64(pid), 10), "/comm"...)
	fd, err := syscall.Open(string(name), syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return ""
	}
	var buf [64]byte
	n, err := syscall.Read(fd, buf[:])
	_ = syscall.Close(fd) // ignore the error: the file was only read
	if err != nil || n <= 0 {
		return ""
	}
	return strings.TrimSuffix(string(buf[:n]), "\n")
}

// Find reads the process with this pid from /proc/PID/stat. It does not set the field Program. It
// returns false if it cannot read or parse the file, for example because the process does not
// exist.
func Find(pid int) (Process, bool) {
	var buf [1024]byte
	fd, err := syscall.Open("/proc/"+strconv.Itoa(pid)+"/stat", syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return Process{}, false
	}
	n, err := syscall.Read(fd, buf[:])
	_ = syscall.Close(fd) // ignore the error: the file was only read
	if err != nil {
		return Process{}, false
	}
	return parseStat(pid, buf[:n])
}

// parseStat parses the content of /proc/PID/stat. The executable's name is in parentheses and may
// itself contain spaces and parentheses. The first fields after the name are the state, the parent,
// the process group, the session and the terminal. The 20th field after the name is the start time.
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

// runtimes lists the process names of the JavaScript runtimes that run agent programs.
var runtimes = []string{"node", "MainThread", "bun", "node-MainThread"}

func mayBeAgent(name string) bool { return IsProgram(name) || slices.Contains(runtimes, name) }

// ownedByUser reports whether the process belongs to the current user.
func ownedByUser(pid int) bool {
	info, err := os.Stat("/proc/" + strconv.Itoa(pid))
	if err != nil {
		return false
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(stat.Uid) == os.Geteuid()
}

// interactiveAgent returns the name of the agent program that the process runs interactively, or ""
// if it does not run one.
func (p Process) interactiveAgent() string { return p.interactiveAgentOf(arguments(p.PID)) }

func (p Process) interactiveAgentOf(words []string) string {
	program := p.Name
	if !IsProgram(program) {
		if program, words = scriptProgram(words); program == "" {
			return ""
		}
	} else if len(words) > 0 {
		words = words[1:]
	}
	if program == Codex && p.Name != Codex { // skip Codex's launcher script: its child process is the agent
		return ""
	}
	if notInteractive(program, words) {
		return ""
	}
	return program
}

// scriptProgram returns the name of the agent program that an interpreter such as node runs, and
// the agent program's arguments. words is the command line of the interpreter. If the interpreter
// runs no agent program, the name is empty.
func scriptProgram(words []string) (program string, rest []string) {
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

// notInteractive reports whether the arguments start the agent program in a mode that is not
// interactive.
func notInteractive(program string, words []string) bool {
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

// arguments returns the words of a process's command line, at most the first 200. The first word is
// the program. If the command line cannot be read, the result is one empty word.
func arguments(pid int) []string {
	data := readProc(pid, "cmdline", 16<<10)
	const limit = 200
	var words []string
	for _, w := range bytes.SplitN(bytes.TrimSuffix(data, []byte{0}), []byte{0}, limit+1) {
		words = append(words, string(w))
	}
	return words[:min(len(words), limit)]
}

// readProc reads the file /proc/PID/name, at most limit bytes of it. After an error, it returns
// what it has read so far.
func readProc(pid int, name string, limit int) []byte {
	fd, err := syscall.Open("/proc/"+strconv.Itoa(pid)+"/"+name, syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return nil
	}
	defer func() { _ = syscall.Close(fd) }() // ignore the error: the file was only read
	data := make([]byte, 0, min(limit, 4<<10))
	for len(data) < limit {
		data = slices.Grow(data, min(limit-len(data), 4<<10))
		n, err := syscall.Read(fd, data[len(data):min(cap(data), limit)])
		if n <= 0 || err != nil {
			break
		}
		data = data[:len(data)+n]
	}
	return data
}

// withoutParts returns one process for each agent. An agent may consist of a process and its
// parent, which run the same program on the same terminal. Of these two, only the parent stays in
// the list. Gemini is an exception: it starts itself a second time, and only the child stays.
func withoutParts(list []Process) []Process {
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

// Ancestor returns the pid of the agent of the given program that started this process, directly or
// indirectly. It searches the 12 nearest ancestors and returns 0 if it finds no such agent. It also
// returns 0 if it reaches an app-server of Codex: that server runs the hooks of many agents, so the
// right agent is unknown.
func Ancestor(program string) int {
	const limit = 12
	pid := os.Getppid()
	for range limit {
		p, ok := Find(pid)
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
			if found, _ := scriptProgram(words); found == program && program != Codex {
				return pid
			}
		}
		pid = p.Parent
	}
	return 0
}

// ProgramOf returns the name of the agent program that a process runs, in any mode, or "" if it
// runs none. Unlike [Agents], it also recognizes agents without a terminal, and servers that are
// part of an agent.
func ProgramOf(pid int) string {
	name := nameOfProcess(pid)
	if IsProgram(name) || name == opencode {
		return name
	}
	if !mayBeAgent(name) {
		return ""
	}
	program, _ := scriptProgram(arguments(pid))
	return program
}

// opencode is not in [Programs], because it has no hooks and no session files that gaffer reads.
const opencode = "opencode"

// Children returns the pids of the processes whose parent is pid.
func Children(pid int) (list []int) {
	for _, other := range pids() {
		if p, ok := Find(other); ok && p.Parent == pid {
			list = append(list, other)
		}
	}
	return list
}

// Arguments returns the words of a process's command line, at most the first 200. The first word is
// the program. If the command line cannot be read, the result is one empty word.
func Arguments(pid int) []string { return arguments(pid) }

// Environ returns the environment with which a process was started. If a name occurs
// twice, the last value counts.
func Environ(pid int) map[string]string {
	found := map[string]string{}
	for v := range bytes.SplitSeq(readProc(pid, "environ", 1<<20), []byte{0}) {
		if name, value, ok := bytes.Cut(v, []byte{'='}); ok {
			found[string(name)] = string(value)
		}
	}
	return found
}

// Variables returns the variables with the given names from the environment with
// which a process was started.
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

// FolderOf returns the working directory of a process, or "" if it is unknown.
func FolderOf(pid int) string {
	dir, err := os.Readlink("/proc/" + strconv.Itoa(pid) + "/cwd")
	if err != nil {
		return ""
	}
	return strings.TrimSuffix(dir, " (deleted)")
}

// RolloutOf returns the path of the Codex rollout (session log) that a process has open, or "" if
// it has none.
func RolloutOf(pid int) string {
	folder := "/proc/" + strconv.Itoa(pid) + "/fd"
	dir, err := os.Open(folder)
	if err != nil {
		return ""
	}
	defer func() { _ = dir.Close() }() // ignore the error: the folder was only read
	const limit = 512
	names, _ := dir.Readdirnames(limit)
	newest := ""
	for _, name := range names {
		path, err := os.Readlink(folder + "/" + name)
		if err != nil || !strings.HasSuffix(path, ".jsonl") || !strings.HasPrefix(base(path), "rollout-") {
			continue
		}
		// The path contains the time at which the log was created, so the greatest path is the
		// newest log.
		newest = max(newest, path)
	}
	return newest
}

// DeviceOf returns the device number of the terminal at path, in the form of [Process.Terminal]. It
// returns 0 if the number cannot be read.
func DeviceOf(path string) uint64 {
	info, err := os.Stat(path)
	if err != nil {
		return 0
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0
	}
	return stat.Rdev & 0xffffffff // keep 32 bits, because /proc/PID/stat shows no more
}

func base(path string) string { return path[strings.LastIndexByte(path, '/')+1:] }
