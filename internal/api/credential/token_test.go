package credential

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"
)

// memory stores tokens in memory and counts the calls of its methods.
type memory struct {
	mu      sync.Mutex
	rows    map[string]Token
	lists   int
	touches int
	fail    error
}

func (m *memory) List(context.Context) (all []Token, _ error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.lists++
	for _, r := range m.rows {
		all = append(all, r)
	}
	return all, m.fail
}

func (m *memory) Put(_ context.Context, r Token) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.rows[r.ID] = r
	return m.fail
}

func (m *memory) Drop(_ context.Context, id string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.rows, id)
	return m.fail
}

func (m *memory) Touch(_ context.Context, id string, at time.Time) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.touches++
	if r, ok := m.rows[id]; ok {
		r.Used = at
		m.rows[id] = r
	}
	return m.fail
}

// clock is a clock that tests set.
type clock struct {
	mu sync.Mutex
	at time.Time
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

func (c *clock) pass(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(d)
}

func newBook() (*TokenStore, *memory, *clock) {
	rows, c := &memory{rows: map[string]Token{}}, &clock{at: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
	b := NewTokenStore(rows, c.now, rand.Reader)
	b.wait = func(_ context.Context, d time.Duration) bool { c.pass(max(d, 0)); return true }
	return b, rows, c
}

func create(t *testing.T, b *TokenStore, n TokenSpec) (string, Token) {
	t.Helper()
	text, row, err := b.Create(t.Context(), n)
	if err != nil {
		t.Fatal(err)
	}
	return text, row
}

func unknownToken(err error) bool {
	var e *Error
	return errors.As(err, &e) && e.Unknown()
}

func TestATokenIsKnownByItsHashAlone(t *testing.T) {
	b, rows, _ := newBook()
	text, row := create(t, b, TokenSpec{Role: Worker, Name: "build-1"})
	if !strings.HasPrefix(text, "gft_") || len(text) != 4+43 {
		t.Errorf("token %q", text)
	}
	if kept := fmt.Sprintf("%+v", rows.rows); strings.Contains(kept, text[4:]) || !strings.Contains(kept, row.Hash) {
		t.Errorf("kept: %s", kept)
	}
	by, err := b.Check(t.Context(), text)
	if err != nil || !reflect.DeepEqual(by, Identity{ID: row.ID, Root: row.ID, Name: "build-1", Role: Worker}) {
		t.Errorf("%+v, %v", by, err)
	}
	for _, wrong := range []string{"", "gft_", text + "x", text[:46], row.Hash, row.ID, strings.ToUpper(text)} {
		if by, err := b.Check(t.Context(), wrong); !unknownToken(err) {
			t.Errorf("%q: %+v, %v", wrong, by, err)
		}
	}
}

func TestTokensAndTheirIDsDiffer(t *testing.T) {
	b, rows, _ := newBook()
	seen := map[string]bool{}
	for range 100 {
		text, _ := create(t, b, TokenSpec{Role: Viewer, Name: "n"})
		seen[text] = true
	}
	if len(seen) != 100 || len(rows.rows) != 100 {
		t.Errorf("%d tokens, %d rows", len(seen), len(rows.rows))
	}
}

func TestARoleOrNameThatIsNoneIsRefused(t *testing.T) {
	b, rows, _ := newBook()
	for _, n := range []TokenSpec{
		{Role: "root", Name: "n"},
		{Role: "", Name: "n"},
		{Role: Admin},
		{Role: Admin, Name: "a\nb"},
		{Role: Admin, Name: strings.Repeat("x", 101)},
		{Role: Admin, Name: "\xff"},
	} {
		_, _, err := b.Create(t.Context(), n)
		var e *Error
		if !errors.As(err, &e) || !e.Invalid() {
			t.Errorf("%+v: %v", n, err)
		}
	}
	if len(rows.rows) != 0 {
		t.Errorf("kept: %v", rows.rows)
	}
}

func TestTokensOfAnotherProcessAreSeenWithinSeconds(t *testing.T) {
	b, rows, c := newBook()
	other := NewTokenStore(rows, c.now, rand.Reader)
	if _, err := b.Check(t.Context(), "gft_none"); !unknownToken(err) {
		t.Fatal(err)
	}
	text, row := create(t, other, TokenSpec{Role: Viewer, Name: "n"})
	if _, err := b.Check(t.Context(), text); err != nil {
		t.Errorf("made elsewhere a moment ago: %v", err)
	}
	if _, err := other.Revoke(t.Context(), row.ID); err != nil {
		t.Fatal(err)
	}
	c.pass(cacheLife)
	if _, err := b.Check(t.Context(), text); !unknownToken(err) {
		t.Errorf("revoked elsewhere: %v", err)
	}
}

func TestChecksReadTheRowsSeldom(t *testing.T) {
	b, rows, c := newBook()
	text, _ := create(t, b, TokenSpec{Role: Viewer, Name: "n"})
	before, began := rows.lists, c.now()
	for range 1000 {
		if _, err := b.Check(t.Context(), text); err != nil {
			t.Fatal(err)
		}
		_, _ = b.Check(t.Context(), "gft_none")
		c.pass(time.Millisecond)
	}
	took := c.now().Sub(began) // each guess of a token takes time
	if n := rows.lists - before; n > int(took/reloadInterval)+2 {
		t.Errorf("%d readings in %v", n, took)
	}
}

func TestTheLastUseIsWrittenOnceAMinuteAtMost(t *testing.T) {
	b, rows, c := newBook()
	text, row := create(t, b, TokenSpec{Role: Viewer, Name: "n"})
	for range 3 {
		for range 60 {
			if _, err := b.Check(t.Context(), text); err != nil {
				t.Fatal(err)
			}
			c.pass(time.Second)
		}
		if err := b.Tidy(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if rows.touches < 2 || rows.touches > 3 || c.now().Sub(rows.rows[row.ID].Used) > 2*time.Minute {
		t.Errorf("%d writes, the last use %v", rows.touches, rows.rows[row.ID].Used)
	}
}

func TestARevokedTokenStaysRevokedWhenItsUseIsWritten(t *testing.T) {
	b, rows, c := newBook()
	text, row := create(t, b, TokenSpec{Role: Viewer, Name: "n"})
	if _, err := b.Check(t.Context(), text); err != nil {
		t.Fatal(err)
	}
	other := NewTokenStore(rows, c.now, rand.Reader)
	if _, err := other.Revoke(t.Context(), row.ID); err != nil {
		t.Fatal(err)
	}
	if err := b.Tidy(t.Context()); err != nil || len(rows.rows) != 0 {
		t.Errorf("%v, %v", err, rows.rows)
	}
}

func TestATokenEndsWithItsTimeAndWithItsParent(t *testing.T) {
	b, rows, c := newBook()
	_, parent := create(t, b, TokenSpec{Role: Operator, Name: "p"})
	child, _ := create(t, b, TokenSpec{Role: Operator, Name: "browser", Parent: parent.ID, ExpiresAfter: time.Hour})
	short, row := create(t, b, TokenSpec{Role: Operator, Name: "short", ExpiresAfter: time.Hour})
	if holds, err := b.Valid(t.Context(), row.ID); !holds || err != nil {
		t.Errorf("holds %v, %v", holds, err)
	}
	if _, err := b.Revoke(t.Context(), "p"); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Check(t.Context(), child); !unknownToken(err) {
		t.Errorf("after its parent: %v", err)
	}
	if _, err := b.Check(t.Context(), short); err != nil {
		t.Errorf("before its time: %v", err)
	}
	c.pass(time.Hour)
	if _, err := b.Check(t.Context(), short); !unknownToken(err) {
		t.Errorf("after its time: %v", err)
	}
	if holds, err := b.Valid(t.Context(), row.ID); holds || err != nil {
		t.Errorf("holds %v, %v", holds, err)
	}
	if err := b.Tidy(t.Context()); err != nil || len(rows.rows) != 0 {
		t.Errorf("%v, %v", err, rows.rows)
	}
}

func TestRevokingNeedsAnIDOrANameThatIsOneTokensAlone(t *testing.T) {
	b, _, _ := newBook()
	_, one := create(t, b, TokenSpec{Role: Viewer, Name: "same"})
	create(t, b, TokenSpec{Role: Viewer, Name: "same"})
	var e *Error
	if _, err := b.Revoke(t.Context(), "same"); !errors.As(err, &e) || !e.Conflict() {
		t.Errorf("a name of two: %v", err)
	}
	if _, err := b.Revoke(t.Context(), "nobody"); !errors.As(err, &e) || !e.NotFound() {
		t.Errorf("a name of none: %v", err)
	}
	if r, err := b.Revoke(t.Context(), one.ID); err != nil || r.ID != one.ID {
		t.Errorf("an id: %+v, %v", r, err)
	}
	if list, err := b.List(t.Context()); err != nil || len(list) != 1 {
		t.Errorf("%+v, %v", list, err)
	}
}

func TestADatabaseThatDoesNotAnswerIsNoUnknownToken(t *testing.T) {
	b, rows, c := newBook()
	text, _ := create(t, b, TokenSpec{Role: Viewer, Name: "n"})
	rows.fail = errors.New("away")
	c.pass(time.Minute)
	if _, err := b.Check(t.Context(), text); err == nil || unknownToken(err) {
		t.Errorf("%v", err)
	}
}

// firstToken creates the first token as a server does, and then releases the lock on the file.
func firstToken(t *testing.T, b *TokenStore, file string) (string, error) {
	t.Helper()
	h, err := LockTokenFile(file)
	if err != nil {
		return "", err
	}
	defer h.Release()
	return h.CreateFirst(t.Context(), b)
}

func TestSecurityTheTokenFileOfAServerThatRunsIsNotReplacedByOneOnAnotherDatabase(t *testing.T) {
	file := filepath.Join(t.TempDir(), "token")
	ours, _, _ := newBook()
	running, err := LockTokenFile(file)
	if err != nil {
		t.Fatal(err)
	}
	text, err := running.CreateFirst(t.Context(), ours)
	if err != nil || text == "" {
		t.Fatalf("%q, %v", text, err)
	}
	theirs, rows, _ := newBook()
	_, err = firstToken(t, theirs, file)
	if refused := (*Error)(nil); !errors.As(err, &refused) || !refused.Conflict() || len(rows.rows) != 0 {
		t.Errorf("another database: %v, tokens %v", err, rows.rows)
	}
	if again, err := firstToken(t, ours, file); err != nil || again != "" {
		t.Errorf("the same database: %q, %v", again, err)
	}
	if data, err := os.ReadFile(file); err != nil || string(data) != text+"\n" {
		t.Errorf("the file has %q, %v; want %q", data, err, text)
	}
	running.Release()
	if text, err := firstToken(t, theirs, file); err != nil || text == "" {
		t.Errorf("after the end of the server: %q, %v", text, err)
	}
}

func TestTheFirstTokenIsAnAdminsAndInAFileOfItsOwnerAlone(t *testing.T) {
	b, _, _ := newBook()
	file := filepath.Join(t.TempDir(), "state", "token")
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte("old"), 0o644); err != nil {
		t.Fatal(err)
	}
	text, err := firstToken(t, b, file)
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(file)
	info, statErr := os.Stat(file)
	if err != nil || statErr != nil || string(data) != text+"\n" || info.Mode().Perm() != 0o600 {
		t.Errorf("%q, %v, %v, %v", data, info.Mode(), err, statErr)
	}
	if by, err := b.Check(t.Context(), text); err != nil || by.Role != Admin {
		t.Errorf("%+v, %v", by, err)
	}
	if again, err := firstToken(t, b, file); again != "" || err != nil {
		t.Errorf("a second one: %q, %v", again, err)
	}
	if left, _ := filepath.Glob(filepath.Join(filepath.Dir(file), ".token-*")); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestAFirstTokenThatCannotBeKeptIsNotMade(t *testing.T) {
	b, rows, _ := newBook()
	blocked := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(blocked, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if text, err := firstToken(t, b, filepath.Join(blocked, "token")); err == nil || text != "" || len(rows.rows) != 0 {
		t.Errorf("%q, %v, %v", text, err, rows.rows)
	}
}

// busy is a storage whose List fails as soon as there is a row. Writes succeed.
type busy struct{ *memory }

func (b busy) List(ctx context.Context) ([]Token, error) {
	all, _ := b.memory.List(ctx)
	if len(all) > 0 {
		return nil, errors.New("away")
	}
	return nil, nil
}

func TestANewTokenIsReturnedEvenIfTheStorageCannotBeReadAfterwards(t *testing.T) {
	_, rows, c := newBook()
	file := filepath.Join(t.TempDir(), "token")
	text, err := firstToken(t, NewTokenStore(busy{rows}, c.now, rand.Reader), file)
	if err != nil || text == "" {
		t.Fatalf("%q, %v", text, err)
	}
	if by, err := NewTokenStore(rows, c.now, rand.Reader).Check(t.Context(), text); err != nil || by.Role != Admin {
		t.Errorf("%+v, %v", by, err)
	}
}

func TestAFirstTokenIsInItsFileBeforeItWorks(t *testing.T) {
	b, rows, _ := newBook()
	file := filepath.Join(t.TempDir(), "token")
	first := &before{memory: rows, look: func() { _, err := os.Stat(file); rows.fail = err }}
	b.rows = first
	if _, err := firstToken(t, b, file); err != nil {
		t.Error(err)
	}
}

// before is a storage that calls look before it stores a row.
type before struct {
	*memory
	look func()
}

func (b *before) Put(ctx context.Context, r Token) error {
	b.look()
	return b.memory.Put(ctx, r)
}

func TestRedactLeavesNothingOfAToken(t *testing.T) {
	b, _, _ := newBook()
	text, _ := create(t, b, TokenSpec{Role: Viewer, Name: "n"})
	for in, want := range map[string]string{
		"a " + text + ", b=" + text + "\n": "a gft_…, b=gft_…\n",
		text + text:                        "gft_…",
		"gft_ and gft_short":               "gft_ and gft_short",
		"nothing":                          "nothing",
		"":                                 "",
	} {
		if got := Redact(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

func TestABookIsUsedByManyAtOnce(t *testing.T) {
	b, _, c := newBook()
	text, _ := create(t, b, TokenSpec{Role: Viewer, Name: "n"})
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			for range 50 {
				if _, err := b.Check(t.Context(), text); err != nil {
					t.Error(err)
				}
				c.pass(100 * time.Millisecond)
				if err := b.Tidy(t.Context()); err != nil {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
}

func TestATokenEndsWithItsAncestors(t *testing.T) {
	for name, end := range map[string]func(b *TokenStore, c *clock) error{
		"revoked": func(b *TokenStore, _ *clock) error { _, err := b.Revoke(t.Context(), "p"); return err },
		"expired": func(_ *TokenStore, c *clock) error { c.pass(time.Hour); return nil },
	} {
		b, rows, c := newBook()
		_, last := create(t, b, TokenSpec{Role: Operator, Name: "p", ExpiresAfter: time.Hour})
		var texts []string
		for range 5 {
			var text string
			text, last = create(t, b, TokenSpec{Role: Operator, Name: "session", Parent: last.ID, ExpiresAfter: 2 * time.Hour})
			texts = append(texts, text)
		}
		other, _ := create(t, b, TokenSpec{Role: Operator, Name: "other"})
		if err := end(b, c); err != nil {
			t.Fatal(err)
		}
		for i, text := range texts {
			if _, err := b.Check(t.Context(), text); !unknownToken(err) {
				t.Errorf("%s, generation %d: %v", name, i+1, err)
			}
		}
		if _, err := b.Check(t.Context(), other); err != nil {
			t.Errorf("%s, of no kin: %v", name, err)
		}
		if err := b.Tidy(t.Context()); err != nil || len(rows.rows) != 1 {
			t.Errorf("%s, tidied at once: %v, %v", name, err, rows.rows)
		}
	}
}

func TestTheOldestDescendantOfATokenIsDeletedWhenThereAreTooMany(t *testing.T) {
	b, rows, c := newBook()
	root, first := create(t, b, TokenSpec{Role: Viewer, Name: "first"})
	other, _ := create(t, b, TokenSpec{Role: Viewer, Name: "other"})
	var texts []string
	parent := first.ID
	for i := range maxDescendants + 5 {
		c.pass(time.Second)
		text, row := create(t, b, TokenSpec{Role: Viewer, Name: "browser", Parent: parent, ExpiresAfter: time.Hour})
		if texts = append(texts, text); i == 0 {
			parent = row.ID // create all further tokens from this one
		}
	}
	for i, text := range append(texts, root, other) {
		ended := i > 0 && i <= 5
		if _, err := b.Check(t.Context(), text); unknownToken(err) != ended {
			t.Errorf("token %d: %v", i, err)
		}
	}
	if len(rows.rows) != maxDescendants+2 {
		t.Errorf("%d rows are kept", len(rows.rows))
	}
}

func TestTokensThatAreMadeOneFromTheOtherHaveAnEnd(t *testing.T) {
	b, _, _ := newBook()
	text, last := create(t, b, TokenSpec{Role: Viewer, Name: "first"})
	first := last.ID
	for range maxDescendants {
		text, last = create(t, b, TokenSpec{Role: Viewer, Name: "browser", Parent: last.ID, ExpiresAfter: time.Hour})
	}
	var e *Error
	if _, _, err := b.Create(t.Context(), TokenSpec{Role: Viewer, Name: "one more", Parent: last.ID}); !errors.As(err, &e) || !e.Conflict() {
		t.Errorf("%v", err)
	}
	if by, err := b.Check(t.Context(), text); err != nil || by.Root != first {
		t.Errorf("the last comes from %s, %v, and not from %s", by.Root, err, first)
	}
}
