package server

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"unicode"

	"gaffer/internal/api/docview"
	"gaffer/internal/api/viewers"
)

// Viewer implements the requests of the workflow viewer, a web page that shows the spec, the builds
// and the inbox of projects. The parameter project is the path or the name of a project. If it is
// empty, most methods use the active project. But AddEvent, AddItem, ChangeItem and DropItem return
// an error if there are several projects, Activate always returns an error, and Priority returns an
// empty result.
type Viewer interface {
	Projects(ctx context.Context) ([]viewers.Project, error)
	Register(ctx context.Context, path string) (viewers.Project, error)
	Activate(ctx context.Context, project string) (viewers.Project, error)

	BuildStatus(ctx context.Context, project string) (viewers.BuildStatus, error)
	BuildLog(ctx context.Context, project string) (viewers.BuildLog, error)
	AddEvent(ctx context.Context, project string, event []byte) (kind string, err error)
	Readiness(ctx context.Context, project string) (viewers.Readiness, error)
	Sections(ctx context.Context, project string) (viewers.Sections, error)
	Dashboard(ctx context.Context) (viewers.Dashboard, error)
	Scenarios(ctx context.Context, project string) (viewers.Scenarios, error)
	StoryMap(ctx context.Context, project string) (viewers.StoryMap, error)
	// Similarity returns the pairs of sections of the project's spec that use similar words. The
	// parameter least is the minimum similarity of a pair, a number from 0 to 1.
	Similarity(ctx context.Context, project string, least float64) (viewers.Similarity, error)
	Diagrams(ctx context.Context, project string) (viewers.Diagrams, error)
	// Priority returns the priorities in the project's config file, as a JSON object. The object is
	// empty if project is empty.
	Priority(ctx context.Context, project string) (viewers.Priority, error)
	// Text returns a Markdown document of a project. name is spec.md, changelog.md or lessons.md.
	Text(ctx context.Context, project, name string) ([]byte, error)

	Inbox(ctx context.Context, project string) ([]json.RawMessage, error)
	AddItem(ctx context.Context, project, kind, content string) (json.RawMessage, error)
	ChangeItem(ctx context.Context, project, id string, c viewers.ItemChange) (json.RawMessage, error)
	DropItem(ctx context.Context, project, id string) error

	Team(ctx context.Context, project string) (docview.TeamPicture, error)
	Sessions(ctx context.Context, project string) ([]docview.SessionEntry, error)
	Session(ctx context.Context, project, id string) (docview.SessionPicture, error)
	SessionLog(ctx context.Context, project, id, agent string, tail int64) (docview.LogTail, error)

	Follow(ctx context.Context, project string) (*viewers.Follower, error)
	// FollowAll is like Follow, but also follows the project's team, its sessions and the view of
	// its build.
	FollowAll(ctx context.Context, project string) (*viewers.Follower, error)
	// Listed returns a channel that is closed when this viewer registers or activates a project.
	Listed() <-chan struct{}
}

// Bodies of the HTTP requests and responses of the viewer.
type (
	projectPath struct {
		Path string `json:"path"`
	}
	activated struct {
		OK     bool   `json:"ok"`
		Active string `json:"active"`
	}
	buildEvent struct {
		Kind string `json:"kind"`
	}
	toldBuildEvent struct {
		OK   bool   `json:"ok"`
		Kind string `json:"kind"`
	}
	idea struct {
		Type    string `json:"type"`
		Content string `json:"content"`
	}
	done struct {
		OK bool `json:"ok"`
	}
)

// viewerHandlers answers the requests of the workflow viewer.
type viewerHandlers struct {
	viewer  Viewer
	live    *liveConnections
	limiter *rateLimiter
}

func (h *viewerHandlers) routes() []route {
	const found, made, missing, conflict = http.StatusOK, http.StatusCreated, http.StatusNotFound, http.StatusConflict
	get, post := http.MethodGet, http.MethodPost
	which, may := []string{"project"}, []int{missing, conflict}
	return []route{
		{method: get, path: "/api/projects", access: look, about: "the projects whose workflow can be viewed", gives: []viewers.Project{}, status: found, moreStatuses: may, do: h.projects},
		{method: post, path: "/api/projects", access: operate, about: "register a project and make it the active one", takes: projectPath{}, gives: viewers.Project{}, status: made, moreStatuses: may, do: h.addProject},
		{method: post, path: "/api/projects/active", access: operate, about: "make a project the active one, by path or name", takes: projectPath{}, gives: activated{}, status: found, moreStatuses: may, do: h.activate},
		{method: get, path: "/api/build-status", access: look, about: "the status of a project's build", query: which, gives: viewers.BuildStatus{}, status: found, moreStatuses: may, do: h.buildStatus},
		{method: post, path: "/api/build-events", access: operate, about: "add an event to the feed of a project", query: which, takes: buildEvent{}, gives: toldBuildEvent{}, status: made, moreStatuses: may, do: h.addBuildEvent},
		{method: get, path: "/api/build-log", access: look, about: "the feed of a project, as a download", query: which, gives: viewers.BuildLog{}, status: found, moreStatuses: may, do: h.buildLog},
		{method: get, path: "/api/inbox", access: look, about: "the inbox of a project", query: which, gives: []json.RawMessage{}, status: found, moreStatuses: may, do: h.inbox},
		{method: post, path: "/api/inbox", access: operate, about: "put an idea into the inbox of a project", query: which, takes: idea{}, gives: json.RawMessage{}, status: made, moreStatuses: may, do: h.addIdea},
		{method: http.MethodPatch, path: "/api/inbox/{id}", access: operate, about: "change the status of an item of the inbox", query: which, takes: viewers.ItemChange{}, gives: json.RawMessage{}, status: found, moreStatuses: may, do: h.changeIdea},
		{method: http.MethodDelete, path: "/api/inbox/{id}", access: operate, about: "remove an item of the inbox", query: which, gives: done{}, status: found, moreStatuses: may, do: h.dropIdea},
		{method: get, path: "/readiness.json", access: look, about: "how ready the sections of a project's spec are", query: which, gives: viewers.Readiness{}, status: found, moreStatuses: may, do: h.readiness},
		{method: get, path: "/spec.md", access: look, about: "the spec of a project", query: which, status: found, moreStatuses: may, do: h.text},
		{method: get, path: "/changelog.md", access: look, about: "the changelog of a project", query: which, status: found, moreStatuses: may, do: h.text},
		{method: get, path: "/lessons.md", access: look, about: "the lessons of a project", query: which, status: found, moreStatuses: may, do: h.text},
		{method: get, path: "/api/dashboard", access: look, about: "an overview of all projects", gives: viewers.Dashboard{}, status: found, moreStatuses: may, do: h.projectsDashboard},
		{method: get, path: "/api/sections", access: look, about: "the sections of a project's spec, with their readiness", query: which, gives: viewers.Sections{}, status: found, moreStatuses: may, do: h.sections},
		{method: get, path: "/api/scenarios", access: look, about: "the scenarios of a project", query: which, gives: viewers.Scenarios{}, status: found, moreStatuses: may, do: h.scenarios},
		{method: get, path: "/api/story-map", access: look, about: "the sections of a project's spec and the links between them", query: which, gives: viewers.StoryMap{}, status: found, moreStatuses: may, do: h.storyMap},
		{method: get, path: "/api/section-similarity", access: look, about: "the sections of a project's spec that have similar words", query: []string{"project", "threshold"}, gives: viewers.Similarity{}, status: found, moreStatuses: may, do: h.sectionSimilarity},
		{method: get, path: "/api/diagrams", access: look, about: "diagrams of a project's spec", query: which, gives: viewers.Diagrams{}, status: found, moreStatuses: may, do: h.diagrams},
		{method: get, path: "/api/priority", access: look, about: "the priority in the config of a project", query: which, gives: viewers.Priority{}, status: found, moreStatuses: may, do: h.priority},
		{method: get, path: "/api/memory", access: look, about: "always empty: the user's document about all projects is not read", status: found, do: h.memory},
		{method: get, path: "/api/team", access: look, about: "the state of a project's team", query: which, gives: docview.TeamPicture{}, status: found, moreStatuses: may, do: h.projectTeam},
		{method: get, path: "/api/sessions", access: look, about: "the newest sessions of a project", query: which, gives: sessionList{}, status: found, moreStatuses: may, do: h.projectSessions},
		{method: get, path: "/api/sessions/{id}", access: look, about: "one session with its waves", query: which, gives: docview.SessionPicture{}, status: found, moreStatuses: may, do: h.projectSession},
		{method: get, path: "/api/sessions/{id}/agents/{name}/log", access: look, about: "the end of an agent's log, as text", query: []string{"project", "tail"}, status: found, moreStatuses: may, do: h.sessionLog},
		{method: get, path: "/api/stream", access: look, about: "changes of a project's documents, as server-sent events", query: which, status: found, moreStatuses: may, do: h.documentStream},
		{method: get, path: "/ws", access: look, about: "a WebSocket with the changes of a project", query: which, status: http.StatusSwitchingProtocols, moreStatuses: append(may, http.StatusUpgradeRequired), do: h.socket},
	}
}

// respondForProject calls the function ask with the project that the query of the request names,
// and sends the result to the client as JSON.
func respondForProject[T any](c *request, ask func(ctx context.Context, project string) (T, error)) error {
	project, err := c.project()
	if err != nil {
		return err
	}
	return respond(c, func(ctx context.Context) (T, error) { return ask(ctx, project) })
}

func (h *viewerHandlers) projects(c *request) error {
	return respond(c, func(ctx context.Context) ([]viewers.Project, error) {
		all, err := h.viewer.Projects(ctx)
		return list(all), err
	})
}

func (h *viewerHandlers) addProject(c *request) error {
	var ask projectPath
	if err := c.decode(&ask); err != nil {
		return err
	}
	return respond(c, func(ctx context.Context) (viewers.Project, error) {
		p, err := h.viewer.Register(ctx, ask.Path)
		c.about = "project " + p.Path
		return p, err
	})
}

func (h *viewerHandlers) activate(c *request) error {
	var ask projectPath
	if err := c.decode(&ask); err != nil {
		return err
	}
	if err := checkPath("project", ask.Path); err != nil {
		return err
	}
	return respond(c, func(ctx context.Context) (activated, error) {
		p, err := h.viewer.Activate(ctx, ask.Path)
		c.about = "project " + p.Path
		return activated{true, p.Path}, err
	})
}

func (h *viewerHandlers) buildStatus(c *request) error {
	return respondForProject(c, h.viewer.BuildStatus)
}

func (h *viewerHandlers) readiness(c *request) error { return respondForProject(c, h.viewer.Readiness) }
func (h *viewerHandlers) inbox(c *request) error     { return respondForProject(c, h.viewer.Inbox) }
func (h *viewerHandlers) sections(c *request) error  { return respondForProject(c, h.viewer.Sections) }

func (h *viewerHandlers) scenarios(c *request) error { return respondForProject(c, h.viewer.Scenarios) }

func (h *viewerHandlers) storyMap(c *request) error { return respondForProject(c, h.viewer.StoryMap) }

func (h *viewerHandlers) diagrams(c *request) error { return respondForProject(c, h.viewer.Diagrams) }

func (h *viewerHandlers) priority(c *request) error { return respondForProject(c, h.viewer.Priority) }

// defaultThreshold is the minimum similarity of two sections of a spec if the request has no
// parameter threshold.
const defaultThreshold = 0.25

func (h *viewerHandlers) sectionSimilarity(c *request) error {
	least := defaultThreshold
	if text := c.r.URL.Query().Get("threshold"); text != "" {
		var err error
		if least, err = strconv.ParseFloat(text, 64); err != nil || !(least > 0 && least <= 1) {
			return refuse(http.StatusBadRequest, "invalid_request", fmt.Sprintf("threshold %.20q: want a number above 0, up to 1", text))
		}
	}
	return respondForProject(c, func(ctx context.Context, project string) (viewers.Similarity, error) {
		return h.viewer.Similarity(ctx, project, least)
	})
}

func (h *viewerHandlers) projectsDashboard(c *request) error { return respond(c, h.viewer.Dashboard) }

const markdown = "text/markdown; charset=utf-8"

// text sends a Markdown document unchanged. The content type is Markdown, not HTML, so that
// browsers do not run scripts in the document.
func (h *viewerHandlers) text(c *request) error {
	project, err := c.project()
	if err != nil {
		return err
	}
	ctx, cancel := c.context()
	defer cancel()
	text, err := h.viewer.Text(ctx, project, strings.TrimPrefix(c.route.path, "/"))
	if err != nil {
		return err
	}
	c.respondBytes(markdown, text)
	return nil
}

// memory answers a request for the user's document about all projects. It always sends an empty
// document: the user's document also describes projects that this server does not show, and a token
// for this server must not give access to them.
func (h *viewerHandlers) memory(c *request) error {
	c.respondBytes(markdown, nil)
	return nil
}

// buildLog sends a project's feed, the list of events of its builds, as a file to download.
func (h *viewerHandlers) buildLog(c *request) error {
	return respondForProject(c, func(ctx context.Context, project string) (viewers.BuildLog, error) {
		log, err := h.viewer.BuildLog(ctx, project)
		if err == nil {
			c.w.Header().Set("Content-Disposition", fmt.Sprintf(`attachment; filename="%s-build-log.json"`, fileName(log.Project)))
		}
		return log, err
	})
}

// fileName replaces each character of name except ASCII letters, digits, "-" and "_" with "-". So
// the result can be a part of a file name on every file system, and needs no escaping in an HTTP
// header.
func fileName(name string) string {
	return strings.Map(func(r rune) rune {
		if r < unicode.MaxASCII && (unicode.IsLetter(r) || unicode.IsDigit(r) || r == '-' || r == '_') {
			return r
		}
		return '-'
	}, name)
}

func (h *viewerHandlers) addBuildEvent(c *request) error {
	body, err := c.body(maxBody)
	if err != nil {
		return err
	}
	return respondForProject(c, func(ctx context.Context, project string) (toldBuildEvent, error) {
		kind, err := h.viewer.AddEvent(ctx, project, body)
		c.about = "event " + kind
		return toldBuildEvent{true, kind}, err
	})
}

func (h *viewerHandlers) addIdea(c *request) error {
	var ask idea
	if err := c.decode(&ask); err != nil {
		return err
	}
	if err := checkTexts("type", ask.Type, "content", ask.Content); err != nil {
		return err
	}
	return respondForProject(c, func(ctx context.Context, project string) (json.RawMessage, error) {
		c.about = "inbox"
		return h.viewer.AddItem(ctx, project, ask.Type, ask.Content)
	})
}

func (h *viewerHandlers) changeIdea(c *request) error {
	var ask viewers.ItemChange
	id, err := c.idAndBody(&ask)
	if err != nil {
		return err
	}
	if err := checkTexts("status", ask.Status, "consumedBy", ask.ConsumedBy, "error", ask.Error); err != nil {
		return err
	}
	return respondForProject(c, func(ctx context.Context, project string) (json.RawMessage, error) {
		c.about = "inbox item " + id
		return h.viewer.ChangeItem(ctx, project, id, ask)
	})
}

func (h *viewerHandlers) dropIdea(c *request) error {
	id, err := c.pathID()
	if err != nil {
		return err
	}
	return respondForProject(c, func(ctx context.Context, project string) (done, error) {
		c.about = "inbox item " + id
		return done{true}, h.viewer.DropItem(ctx, project, id)
	})
}
