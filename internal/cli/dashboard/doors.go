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

// door is a server that may have the dashboard.
type door struct {
	address string
	token   string // "" for the one that the command has
	run     string // what it is there for; "" for everything
	named   bool   // by the person: what is wrong with it is told
}

// usual is where 'gaffer serve' listens if it is not told otherwise.
const usual = "http://127.0.0.1:4870"

// patience is how long a server of this machine may take to answer.
const patience = 10 * time.Second

// find lists the servers that are asked, in this order.
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

// arrange puts the pages of this project's runs first, then servers, then pages of
// other projects' runs, and last the place where a server usually is.
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

// enter returns a link to what is named, from the first of the servers that has it.
// If none has, it is the first problem that counts: but that nobody is there counts
// only where the person has said that somebody is.
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

// link asks the server for a link.
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

// place is where on the page a name is.
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

// lookUp finds a run or a task. Runs of this machine belong to a folder, those of a
// server to a project's name.
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

// problem says which server it is.
func (d door) problem(err error) error {
	told := (*coordinator.Error)(nil)
	if errors.As(err, &told) && told.Status == 401 {
		return exit.WithHint(fmt.Errorf("%s: %w", display.Printable(d.address), err),
			"--token-file FILE, GAFFER_TOKEN_FILE or GAFFER_TOKEN have a token that it knows; 'gaffer help server' says more")
	}
	return fmt.Errorf("%s: %w", display.Printable(d.address), err)
}
