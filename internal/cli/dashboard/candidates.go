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
	"gaffer/internal/cli/env"
	"gaffer/internal/cli/openfleet"
	"gaffer/internal/cli/page"
	"gaffer/internal/connect/localservers"
	"gaffer/internal/connect/serverfleet"
	"gaffer/internal/exit"
	"gaffer/internal/text/display"
)

// candidate is a server that may offer the dashboard.
type candidate struct {
	address string
	token   string // token to log in with; empty means the command's configured token
	run     string // id of this project's run that the server belongs to; empty for other servers
	named   bool   // configured by the user: a failed connection is an error
}

// defaultAddress is the URL at which 'gaffer serve' listens by default.
const defaultAddress = "http://127.0.0.1:4870"

// linkTimeout is the timeout for asking one server for a link to its dashboard.
const linkTimeout = 10 * time.Second

// candidates returns the servers that may offer the dashboard, in the order in which to try them.
func candidates(e *env.Env) ([]candidate, error) {
	c, err := e.Config()
	if err != nil {
		return nil, err
	}
	if named := c.Server(); named != "" {
		var list []candidate
		for _, address := range strings.Split(named, ",") {
			list = append(list, candidate{address: strings.TrimRight(strings.TrimSpace(address), "/"), named: true})
		}
		return list, nil
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
	return orderServers(servers, project.Root), err
}

// orderServers returns the servers in the order in which to try them: first the servers of this
// project's runs, then 'gaffer serve', then the servers of other projects' runs, and last the
// default address.
func orderServers(servers []localservers.Server, root string) (list []candidate) {
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
		d := candidate{address: s.URL, token: s.Token}
		if rank(s) == 0 {
			d.run = s.Run
		}
		list = append(list, d)
	}
	if !slices.ContainsFunc(list, func(d candidate) bool { return d.address == defaultAddress }) {
		list = append(list, candidate{address: defaultAddress})
	}
	return list
}

// firstLink asks the servers in list, in order, for a dashboard link to the run or task with this
// name. It returns the first link, and the server that sent it. If no server sends a link,
// firstLink returns the first error. A failed connection counts as an error only if the user
// configured the server. If there is no such error, firstLink returns a not-found error.
func firstLink(ctx context.Context, e *env.Env, list []candidate, name string) (candidate, string, error) {
	var problem error
	for _, d := range list {
		link, err := d.link(ctx, e, name)
		if err == nil {
			return d, link, nil
		}
		if refused := (*net.OpError)(nil); problem == nil && (d.named || !errors.As(err, &refused)) {
			problem = err
		}
	}
	if problem != nil {
		return candidate{}, "", problem
	}
	return candidate{}, "", exit.WithHint(exit.NotFound(errors.New("no server on this machine has the dashboard")),
		"'gaffer serve' starts one, 'gaffer run PLAN --open' has one of its own, --server names one elsewhere")
}

// link asks the server for a link that logs the browser in and shows the run or task with this
// name. If name is empty, the link shows the run c.run or, if that is empty too, all runs.
func (c candidate) link(ctx context.Context, e *env.Env, name string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, linkTimeout)
	defer cancel()
	client, err := c.client(e)
	if err != nil {
		return "", err
	}
	fragment := ""
	if name == "" && c.run != "" {
		fragment = page.RunFragment(c.run)
	}
	if name != "" {
		run, task, err := c.find(ctx, e, client, name)
		if err != nil {
			return "", err
		}
		if fragment = page.RunFragment(run); task != "" {
			fragment = page.TaskFragment(run, task)
		}
	}
	login, err := client.Login(ctx)
	if err != nil {
		return "", c.problem(err)
	}
	return c.address + login.To(fragment), nil
}

func (c candidate) client(e *env.Env) (*coordinator.Client, error) {
	o := coordinator.Options{Tries: 1}
	if c.token == "" {
		return openfleet.ClientAt(e, c.address, o)
	}
	o.Token, o.Now = c.token, e.Now
	return coordinator.New(c.address, o)
}

// find returns the run or task with this name; for a run, task is empty. The server may know the
// command's project by its folder or by its name, so find first searches the project with this
// folder and then the project with this name.
func (c candidate) find(ctx context.Context, e *env.Env, client *coordinator.Client, name string) (run, task string, err error) {
	config, err := e.Config()
	if err != nil {
		return "", "", err
	}
	p, err := e.Project()
	if err != nil {
		return "", "", err
	}
	for _, project := range []string{p.Root, config.ProjectName()} {
		f := serverfleet.New(client, serverfleet.Options{Address: c.address, Project: project, Notice: func(string) {}})
		if run, task, err = openfleet.FindEither(ctx, f, name); err == nil || exit.Of(err) != exit.CodeNotFound {
			return run, task, err
		}
	}
	return run, task, err
}

// problem returns err with the server's address added to its text. If the server does not accept
// the token, it also adds a hint.
func (c candidate) problem(err error) error {
	answer := (*coordinator.Error)(nil)
	if errors.As(err, &answer) && answer.Status == 401 {
		return exit.WithHint(fmt.Errorf("%s: %w", display.Printable(c.address), err),
			"--token-file FILE, GAFFER_TOKEN_FILE or GAFFER_TOKEN have a token that it knows; 'gaffer help server' says more")
	}
	return fmt.Errorf("%s: %w", display.Printable(c.address), err)
}
