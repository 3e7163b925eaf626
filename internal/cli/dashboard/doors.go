package dashboard

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"time"

	"gaffer/coordinator"
	"gaffer/internal/cli/connect"
	"gaffer/internal/cli/env"
	"gaffer/internal/cli/page"
	"gaffer/internal/connect/localservers"
	"gaffer/internal/connect/serverfleet"
	"gaffer/internal/exit"
	"gaffer/internal/text/display"
)

// door is a server that may offer the dashboard.
type door struct {
	address string
	token   string // empty: the token that the command is configured with
	run     string // the run that the server shows; empty: all runs
	named   bool   // the user configured it, so its errors are reported
}

// usual is the default address of 'gaffer serve'.
const usual = "http://127.0.0.1:4870"

// patience is the timeout for getting a link from one server.
const patience = 10 * time.Second

// find returns the servers to try, in order.
func find(e *env.Env) ([]door, error) {
	c, err := e.Config()
	if err != nil {
		return nil, err
	}
	if named := c.Server(); named != "" {
		var doors []door
		for _, address := range strings.Split(named, ",") {
			doors = append(doors, door{address: strings.TrimRight(strings.TrimSpace(address), "/"), named: true})
		}
		return doors, nil
	}
	project, err := e.Project()
	if err != nil {
		return nil, err
	}
	state, err := e.StateDir()
	if err != nil {
		return nil, err
	}
	servers, err := localservers.List(state)
	return arrange(servers, project.Root), err
}

// arrange sorts the servers: first those of this project's runs, then 'gaffer serve',
// then those of other projects' runs, and last the default address.
func arrange(servers []localservers.Server, root string) (doors []door) {
	rank := func(s localservers.Server) int {
		switch {
		case s.Run != "" && s.Project == root:
			return 0
		case s.Run == "":
			return 1
		}
		return 2
	}
	slices.SortStableFunc(servers, func(a, b localservers.Server) int { return rank(a) - rank(b) })
	for _, s := range servers {
		d := door{address: s.URL, token: s.Token}
		if rank(s) == 0 {
			d.run = s.Run
		}
		doors = append(doors, d)
	}
	if !slices.ContainsFunc(doors, func(d door) bool { return d.address == usual }) {
		doors = append(doors, door{address: usual})
	}
	return doors
}

// enter returns a link to the named run or task, from the first server that has it. If
// no server has it, enter returns the first error. A refused connection counts as an
// error only for a server that the user configured.
func enter(ctx context.Context, e *env.Env, doors []door, name string) (door, string, error) {
	var problem error
	for _, d := range doors {
		link, err := d.link(ctx, e, name)
		if err == nil {
			return d, link, nil
		}
		if nobody := (*net.OpError)(nil); problem == nil && (d.named || !errors.As(err, &nobody)) {
			problem = err
		}
	}
	if problem != nil {
		return door{}, "", problem
	}
	return door{}, "", exit.WithHint(exit.NotFound(errors.New("no server on this machine has the dashboard")),
		"'gaffer serve' starts one, 'gaffer run PLAN --open' has one of its own, --server names one elsewhere")
}

// link asks the server for a link that logs the browser in.
func (d door) link(ctx context.Context, e *env.Env, name string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	client, err := d.client(e)
	if err != nil {
		return "", err
	}
	place, err := d.place(ctx, e, client, name)
	if err != nil {
		return "", err
	}
	login, err := client.Login(ctx)
	if err != nil {
		return "", d.problem(err)
	}
	return d.address + login.To(place), nil
}

func (d door) client(e *env.Env) (*coordinator.Client, error) {
	o := coordinator.Options{Tries: 1}
	if d.token == "" {
		return connect.At(e, d.address, o)
	}
	o.Token, o.Now = d.token, e.Now
	return coordinator.New(d.address, o)
}

// place returns the dashboard's path of the named run or task.
func (d door) place(ctx context.Context, e *env.Env, client *coordinator.Client, name string) (string, error) {
	switch {
	case name == "" && d.run == "":
		return "", nil
	case name == "":
		return page.RunPlace(d.run), nil
	}
	run, task, err := d.lookUp(ctx, e, client, name)
	if err != nil {
		return "", err
	}
	if task == "" {
		return page.RunPlace(run), nil
	}
	return page.TaskPlace(run, task), nil
}

// lookUp finds a run or a task. On this machine the project of a run is a folder, on a
// server it is a name, so it tries both.
func (d door) lookUp(ctx context.Context, e *env.Env, client *coordinator.Client, name string) (run, task string, err error) {
	c, err := e.Config()
	if err != nil {
		return "", "", err
	}
	p, err := e.Project()
	if err != nil {
		return "", "", err
	}
	for _, project := range []string{p.Root, c.ProjectName()} {
		f := serverfleet.New(client, serverfleet.Options{Address: d.address, Project: project, Notice: func(string) {}})
		if run, task, err = connect.FindEither(ctx, f, name); err == nil || exit.Of(err) != exit.CodeNotFound {
			return run, task, err
		}
	}
	return run, task, err
}

// problem adds the server's address to an error.
func (d door) problem(err error) error {
	told := (*coordinator.Error)(nil)
	if errors.As(err, &told) && told.Status == 401 {
		return exit.WithHint(fmt.Errorf("%s: %w", display.Printable(d.address), err),
			"--token-file FILE, GAFFER_TOKEN_FILE or GAFFER_TOKEN have a token that it knows; 'gaffer help server' says more")
	}
	return fmt.Errorf("%s: %w", display.Printable(d.address), err)
}
