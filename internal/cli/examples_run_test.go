package cli

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/goccy/go-yaml"

	"gaffer/internal/engine/store/postgres/pgtest"
	"gaffer/internal/testkit/testenv"
)

// The tests in this file run the systemd units and the compose file of examples/serve
// as plain processes on loopback: with their command lines, environment, folders,
// health checks and start order.
//
// They check that gaffer starts with exactly these arguments and variables, that the
// health checks pass, that the coordinators trust only the proxy, that the worker runs
// a task through the proxy, and that SIGTERM ends each process with code 0 within its
// time limit.
//
// They do not check systemd and Docker themselves. No sandbox, user, image, network or
// volume is created. Caddy is not run: a proxy from Go's library replaces it. That
// proxy takes its upstreams and health check from the Caddyfile and has no TLS.
// Addresses of other machines and ports are replaced by loopback ones, system paths by
// those of a temporary folder, and 172.30.87.0/24 by 127.0.0.0/8.

const longWait = 60 * time.Second

// running is a started process of one of the examples.
type running struct {
	name  string
	cmd   *exec.Cmd
	out   *bytes.Buffer
	mu    *sync.Mutex
	ended chan error
}

// Write collects the output of the process.
func (r *running) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.out.Write(p)
}

func (r *running) output() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.out.String()
}

// begin starts a process. Its environment has only these variables, and PATH and HOME, which both
// systemd and Docker set.
func begin(t *testing.T, name, dir string, env map[string]string, argv ...string) *running {
	t.Helper()
	r := &running{name: name, out: &bytes.Buffer{}, mu: &sync.Mutex{}, ended: make(chan error, 1)}
	r.cmd = exec.Command(argv[0], argv[1:]...)
	r.cmd.Dir, r.cmd.Env, r.cmd.Stdout, r.cmd.Stderr = dir, variables(t, env), r, r
	if err := r.cmd.Start(); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	go func() { r.ended <- r.cmd.Wait() }()
	t.Cleanup(func() {
		_ = r.cmd.Process.Kill() // ignore the error: the process may have been stopped
		if t.Failed() {
			t.Logf("%s printed:\n%s", name, r.output())
		}
	})
	return r
}

func variables(t *testing.T, env map[string]string) []string {
	list := []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir()}
	for _, name := range slices.Sorted(maps.Keys(env)) {
		list = append(list, name+"="+env[name])
	}
	return list
}

// stop sends SIGTERM, as systemd and Docker do, and expects exit code 0.
func (r *running) stop(t *testing.T) {
	t.Helper()
	if err := r.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatalf("%s: %v", r.name, err)
	}
	select {
	case err := <-r.ended:
		if err != nil {
			t.Errorf("%s ended with %v", r.name, err)
		}
	case <-time.After(longWait):
		t.Errorf("%s does not end", r.name)
	}
}

// prints runs a command that must succeed and returns its stdout.
func prints(t *testing.T, dir string, env map[string]string, argv ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), longWait)
	defer cancel()
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	var errors bytes.Buffer
	cmd.Dir, cmd.Env, cmd.Stderr = dir, variables(t, env), &errors
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s%s", strings.Join(argv, " "), err, out, &errors)
	}
	return string(out)
}

// freePort returns a free port on this machine.
func freePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }() // gaffer will listen on this port next
	_, port, _ := net.SplitHostPort(l.Addr().String())
	return port
}

func folderOf(t *testing.T, parts ...string) string {
	t.Helper()
	path := filepath.Join(parts...)
	if err := os.MkdirAll(path, 0o700); err != nil {
		t.Fatal(err)
	}
	return path
}

func writeTo(t *testing.T, path, text string) string {
	t.Helper()
	folderOf(t, filepath.Dir(path))
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// standIn starts a reverse proxy for host. It alternates between the upstreams whose health check
// passes, keeps the Host header, and adds the headers about the client that Caddy adds.
func standIn(t *testing.T, host, health string, upstreams ...string) *httptest.Server {
	t.Helper()
	var turn atomic.Int64
	p := &httputil.ReverseProxy{
		FlushInterval: -1,

		Rewrite: func(r *httputil.ProxyRequest) {
			for range upstreams {
				to := upstreams[int(turn.Add(1))%len(upstreams)]
				if healthy(to, health) != nil {
					continue
				}
				r.SetURL(&url.URL{Scheme: "http", Host: to})
				break
			}
			r.Out.Host = host
			r.Out.Header.Set("X-Forwarded-Host", host)
			r.Out.Header.Set("X-Forwarded-Proto", "https")
			r.Out.Header.Set("X-Forwarded-For", "203.0.113.9")
		},
	}
	s := httptest.NewServer(p)
	t.Cleanup(s.Close)
	return s
}

// healthy requests the health check of a server by its IP address, as a load balancer does. It
// returns an error if the check fails.
func healthy(address, path string) error {
	client := http.Client{Timeout: 10 * time.Second}
	resp, err := client.Get("http://" + address + path)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s%s: %s", address, path, resp.Status)
	}
	return nil
}

// browses requests a login link as a page of this host would, and returns the status code.
func browses(t *testing.T, address, token, host string) int {
	t.Helper()
	q, err := http.NewRequestWithContext(t.Context(), http.MethodPost, address+"/v1/login", nil)
	if err != nil {
		t.Fatal(err)
	}
	q.Header.Set("Authorization", "Bearer "+token)
	q.Header.Set("Origin", "https://"+host)
	resp, err := http.DefaultClient.Do(q)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	_, _ = io.Copy(io.Discard, resp.Body) // read the whole body, so that the connection is reused
	return resp.StatusCode
}

func fileText(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(text))
}

const examplePlan = "name: demo\ntasks:\n  - {id: one, shell: \"echo hello\"}\n"

// does submits a plan to a server and waits until this worker has completed it.
func does(t *testing.T, gaffer, server, token, project, worker string) {
	t.Helper()
	writeTo(t, filepath.Join(project, "plan.yaml"), examplePlan)
	env := map[string]string{"GAFFER_SERVER": server, "GAFFER_TOKEN": token, "XDG_STATE_HOME": t.TempDir()}
	if out := prints(t, project, env, gaffer, "run", "plan.yaml"); !strings.Contains(out, "✓ demo complete") || !strings.Contains(out, "workers   "+worker) {
		t.Errorf("the run says\n%s", out)
	}
}

// unitValues returns the values of a setting in a systemd unit.
func unitValues(unit map[string][]string, name string) (values []string) {
	for _, line := range unit["Service"] {
		if value, ok := strings.CutPrefix(line, name+"="); ok {
			values = append(values, value)
		}
	}
	return values
}

// started starts the service of a systemd unit. It replaces specifiers and paths, creates the state
// folder, and sets the unit's variables.
func started(t *testing.T, name string, replace *strings.Replacer, fromFile map[string]string) (*running, map[string]string) {
	t.Helper()
	u := unit(t, name)
	one := func(setting string) string {
		values := unitValues(u, setting)
		if len(values) != 1 {
			t.Fatalf("%s: %s is %q, want one value", name, setting, values)
		}
		return replace.Replace(values[0])
	}
	env := map[string]string{}
	for _, value := range unitValues(u, "Environment") {
		key, text, _ := strings.Cut(replace.Replace(value), "=")
		env[key] = text
	}
	if len(unitValues(u, "EnvironmentFile")) > 0 {
		maps.Copy(env, fromFile) // like systemd, let the file override the unit
	}
	if one("StateDirectoryMode") != "0700" {
		t.Errorf("%s: others may look into its state", name)
	}
	folderOf(t, replace.Replace("%S"), one("StateDirectory"))
	argv := strings.Fields(one("ExecStart"))
	for i := range argv {
		argv[i] = os.Expand(argv[i], func(key string) string {
			if env[key] == "" {
				t.Errorf("%s: %s has no value", name, key)
			}
			return env[key]
		})
	}
	return begin(t, name, one("WorkingDirectory"), env, argv...), env
}

func TestTheUnitsOfTheExampleRunBehindAProxy(t *testing.T) {
	testenv.Integration(t)
	gaffer := testenv.Program(t)
	root := t.TempDir()
	state, project, credentials := folderOf(t, root, "var/lib"), folderOf(t, root, "srv/shop"), folderOf(t, root, "credentials")
	port := freePort(t)
	const host = "build.example"
	replace := strings.NewReplacer("/usr/local/bin/gaffer", gaffer, "%S", state, "127.0.0.1:4870", "127.0.0.1:"+port)
	serve, env := started(t, "gaffer.service", replace, map[string]string{"GAFFER_HOST": host})
	testenv.Wait(t, "the coordinator's health", func() error { return healthy("127.0.0.1:"+port, "/health") })
	if out := serve.output(); strings.Contains(out, "gft_") {
		t.Errorf("a token is in the journal:\n%s", out)
	}

	proxy := standIn(t, host, "/health", "127.0.0.1:"+port)
	admin := fileText(t, filepath.Join(state, "gaffer", "token"))
	if status := browses(t, proxy.URL, admin, host); status != http.StatusCreated {
		t.Errorf("a page of %s, through the proxy: %d", host, status)
	}
	if status := browses(t, proxy.URL, admin, "evil.example"); status != http.StatusForbidden {
		t.Errorf("a page of evil.example, through the proxy: %d", status)
	}
	if !strings.Contains(serve.output(), `"from":"203.0.113.9"`) {
		t.Errorf("the journal does not name the client:\n%s", serve.output())
	}

	// Create the worker's token with the command in the unit's comment.
	comment := regexp.MustCompile(`(?m)^#\s+sudo -u gaffer env XDG_STATE_HOME=/var/lib (gaffer token create .*)$`).FindStringSubmatch(example(t, "gaffer.service"))
	if comment == nil {
		t.Fatal("gaffer.service does not say how to make a token")
	}
	made := prints(t, root, map[string]string{"XDG_STATE_HOME": env["XDG_STATE_HOME"]}, append([]string{gaffer}, strings.Fields(comment[1])[1:]...)...)
	if load := unitValues(unit(t, "gaffer-worker@.service"), "LoadCredential"); !slices.Equal(load, []string{"token:/etc/gaffer/worker.token"}) {
		t.Errorf("the worker's credentials are %q", load)
	}
	writeTo(t, filepath.Join(credentials, "token"), made)
	writeTo(t, filepath.Join(project, "gaffer.yaml"), "project_name: shop\n")
	// Replace %H and %i as systemd does, and the server's name and TLS as this test needs it.
	replace = strings.NewReplacer(
		"/usr/local/bin/gaffer", gaffer, "https://build.example:4870", proxy.URL, "/srv/%i", project, "%H", "machine", "%i", "shop", "%d", credentials, "%S", state)
	worker, _ := started(t, "gaffer-worker@.service", replace, nil)
	testenv.Wait(t, "the worker", func() error {
		if out := worker.output(); !strings.Contains(out, "takes tasks of shop") {
			return fmt.Errorf("it says %q", out)
		}
		return nil
	})
	does(t, gaffer, proxy.URL, admin, project, "machine-shop")
	worker.stop(t)
	serve.stop(t)
}

// compose is the part of a compose file that can run without Docker.
type compose struct {
	Services map[string]struct {
		Image       string
		Command     []string
		WorkingDir  string `yaml:"working_dir"`
		Environment map[string]string
		Secrets     []string
		DependsOn   any `yaml:"depends_on"`
		Healthcheck struct{ Test []string }
	}
	Secrets  map[string]struct{ File string }
	Networks map[string]struct {
		IPAM struct {
			Config []struct{ Subnet string }
		} `yaml:"ipam"`
	}
}

var composeVariable = regexp.MustCompile(`\$\{(\w+)(?::([-?])([^}]*))?\}`)

// interpolate replaces ${NAME}, ${NAME:-default} and ${NAME:?message} like Docker
// Compose.
func interpolate(t *testing.T, text string, env map[string]string) string {
	t.Helper()
	return composeVariable.ReplaceAllStringFunc(text, func(found string) string {
		m := composeVariable.FindStringSubmatch(found)
		if value := env[m[1]]; value != "" {
			return value
		}
		if m[2] == "?" {
			t.Fatalf("%s: %s", m[1], m[3])
		}
		return m[3]
	})
}

func TestTheComposeFileOfTheExampleRuns(t *testing.T) {
	testenv.Integration(t)
	gaffer := testenv.Program(t)
	const host, password = "build.example", "5ecret"
	var c compose
	text := interpolate(t, example(t, "compose.yaml"), map[string]string{"GAFFER_HOST": host, "GAFFER_DB_PASSWORD": password})
	if err := yaml.Unmarshal([]byte(text), &c); err != nil {
		t.Fatal(err)
	}
	subnet := c.Networks["default"].IPAM.Config[0].Subnet
	root := t.TempDir()

	// Start the database of the service db.
	database, err := pgtest.Start("fsync=off")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := database.Stop(); err != nil {
			t.Error(err)
		}
	})
	db := c.Services["db"].Environment
	for _, statement := range []string{
		fmt.Sprintf("CREATE ROLE %s LOGIN PASSWORD '%s'", db["POSTGRES_USER"], db["POSTGRES_PASSWORD"]),
		fmt.Sprintf("CREATE DATABASE %s OWNER %s", db["POSTGRES_DB"], db["POSTGRES_USER"]),
	} {
		prints(t, root, nil, "psql", "--quiet", "--set=ON_ERROR_STOP=1", "--command="+statement, database.URL)
	}
	socket, err := url.Parse(database.URL)
	if err != nil {
		t.Fatal(err)
	}

	// Start both coordinators. The second starts once the first is healthy.
	ports := map[string]string{}
	coordinators := map[string]*running{}
	states := map[string]string{}
	for _, name := range []string{"serve-1", "serve-2"} {
		s := c.Services[name]
		if before := map[string]string{"serve-1": "db", "serve-2": "serve-1"}[name]; !slices.Equal(dependencies(s.DependsOn), []string{before}) {
			t.Errorf("%s waits for %v, want %s", name, dependencies(s.DependsOn), before)
		}
		ports[name], states[name] = freePort(t), folderOf(t, root, name, "var/lib")
		env := maps.Clone(s.Environment)
		env["XDG_STATE_HOME"] = states[name] // as in the image
		env["GAFFER_DB"] = strings.Replace(env["GAFFER_DB"], "@db:5432/", "@/", 1) + "&host=" + url.QueryEscape(socket.Query().Get("host"))
		argv := []string{gaffer}
		for _, arg := range s.Command {
			argv = append(argv, strings.NewReplacer("0.0.0.0:4870", "127.0.0.1:"+ports[name], subnet, "127.0.0.0/8").Replace(arg))
		}
		coordinators[name] = begin(t, name, folderOf(t, root, name, "home"), env, argv...)
		check := s.Healthcheck.Test
		if len(check) < 2 || check[0] != "CMD" {
			t.Fatalf("%s: health check %q", name, check)
		}
		check = slices.Clone(check[1:])
		for i := range check {
			check[i] = strings.ReplaceAll(check[i], "localhost:4870", "localhost:"+ports[name])
		}
		testenv.Wait(t, name+": "+strings.Join(check, " "), func() error {
			out, err := exec.CommandContext(t.Context(), check[0], check[1:]...).CombinedOutput()
			if err != nil {
				return fmt.Errorf("%w: %s", err, out)
			}
			return nil
		})
	}

	// Start the proxy as the Caddyfile describes it.
	caddy := example(t, "Caddyfile")
	upstreams := regexp.MustCompile(`(?m)^\s*reverse_proxy (.*) \{$`).FindStringSubmatch(caddy)
	health := regexp.MustCompile(`(?m)^\s*health_uri (\S+)$`).FindStringSubmatch(caddy)
	if upstreams == nil || health == nil {
		t.Fatalf("the Caddyfile has no reverse_proxy or no health_uri:\n%s", caddy)
	}
	var addresses []string
	for _, upstream := range strings.Fields(upstreams[1]) {
		name, _, _ := strings.Cut(upstream, ":")
		addresses = append(addresses, "127.0.0.1:"+ports[name])
	}
	outside, inside := standIn(t, host, health[1], addresses...), standIn(t, "proxy:8080", health[1], addresses...)
	admin := fileText(t, filepath.Join(states["serve-1"], "gaffer", "token"))
	for range 4 { // often enough to reach each coordinator
		if status := browses(t, outside.URL, admin, host); status != http.StatusCreated {
			t.Errorf("a page of %s, through the proxy: %d", host, status)
		}
	}
	for name, r := range coordinators {
		if !strings.Contains(r.output(), `"from":"203.0.113.9"`) {
			t.Errorf("%s does not name the client:\n%s", name, r.output())
		}
	}

	// Start the worker with the token that the command in the file's comment creates.
	comment := regexp.MustCompile(`(?m)^#\s+docker compose exec serve-1 gaffer (token create .*) > worker.token$`).FindStringSubmatch(text)
	if comment == nil {
		t.Fatal("compose.yaml does not say how to make a token")
	}
	made := prints(t, root, environment(coordinators["serve-1"]), append([]string{gaffer}, strings.Fields(comment[1])...)...)
	w := c.Services["worker"]
	if w.Image != "gaffer" || w.WorkingDir != "/srv/project" || !slices.Equal(w.Secrets, []string{"worker-token"}) || c.Secrets["worker-token"].File != "./worker.token" {
		t.Errorf("the worker is %+v", w)
	}
	secret := writeTo(t, filepath.Join(root, "worker.token"), made)
	project := folderOf(t, root, "srv/project")
	writeTo(t, filepath.Join(project, "gaffer.yaml"), "project_name: shop\n")
	argv := []string{gaffer}
	for _, arg := range w.Command {
		argv = append(argv, strings.NewReplacer("http://proxy:8080", inside.URL, "/run/secrets/worker-token", secret).Replace(arg))
	}
	worker := begin(t, "worker", project, map[string]string{"XDG_STATE_HOME": folderOf(t, root, "worker", "var/lib")}, argv...)
	testenv.Wait(t, "the worker", func() error {
		if out := worker.output(); !strings.Contains(out, "takes tasks of shop") {
			return fmt.Errorf("it says %q", out)
		}
		return nil
	})
	does(t, gaffer, outside.URL, admin, project, "worker-1")

	// Stop one coordinator. The proxy notices this by its health check.
	coordinators["serve-1"].stop(t)
	does(t, gaffer, outside.URL, admin, project, "worker-1")
	worker.stop(t)
	coordinators["serve-2"].stop(t)
}

// environment returns the variables that a process was started with.
func environment(r *running) map[string]string {
	env := map[string]string{}
	for _, line := range r.cmd.Env {
		name, value, _ := strings.Cut(line, "=")
		env[name] = value
	}
	return env
}
