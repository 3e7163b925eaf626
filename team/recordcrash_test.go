package team

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"

	"gaffer/internal/testkit/testenv"
	"gaffer/statefile"
	"gaffer/statefile/host/hosttest"
)

// contents returns the bytes of each document.
func contents(s *Store) (map[Document]string, error) {
	texts := map[Document]string{}
	for _, d := range Documents() {
		data, err := statefile.ReadBytes(s.opts.Host, s.path(d))
		if err != nil {
			return nil, err
		}
		texts[d] = string(data)
	}
	return texts, nil
}

// recorded records the given contents in order on a separate machine. It returns the text of each
// document after the last one.
func recorded(t *testing.T, pictures ...Contents) (texts map[Document]string) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := Open(crashRoot, Options{Host: hosttest.New(0, hosttest.Fault{}).Process()})
		var err error
		for _, p := range pictures {
			err = errors.Join(err, s.Record(ctx, p))
		}
		found, readErr := contents(s)
		if err = errors.Join(err, readErr); err != nil {
			t.Fatal(err)
		}
		texts = found
	})
	return texts
}

func TestARecordingThatCrashesLeavesEachDocumentOldOrNew(t *testing.T) {
	first, then := seedContents(t), next(t)
	before, after := recorded(t, first), recorded(t, first, then)
	again := false
	crashes(t,
		func(s *Store) error {
			again = false
			return s.Record(ctx, first)
		},
		func(s *Store) error { return s.Record(ctx, then) },
		func(s *Store, done bool) error {
			found, err := contents(s)
			if err != nil {
				return err
			}
			for d, text := range found {
				if isNew := text == after[d]; !isNew && (text != before[d] || done || again) {
					return fmt.Errorf("done %t, made again %t, and %s is %s", done, again, d, text)
				}
			}
			again = true
			return s.Record(ctx, then)
		})
}

func TestACrashWhileReplacingUnreadableDocumentsLosesNothing(t *testing.T) {
	testenv.Integration(t)
	p := seedContents(t)
	want := recorded(t, p)
	wrecked := map[Document]string{PMStateDoc: "[1]", GroupStatusDoc: "{half", DevToQADoc: `{"messages": 7}`}
	again := false
	crashes(t,
		func(s *Store) error {
			again = false
			err := s.Record(ctx, p)
			for d, text := range wrecked {
				err = errors.Join(err, s.opts.Host.Remove("test", s.path(d)), statefile.WriteNew(s.opts.Host, s.path(d), []byte(text), 0o644))
			}
			return err
		},
		func(s *Store) error { return s.Record(ctx, p) },
		func(s *Store, done bool) error {
			for d, text := range wrecked {
				if err := keptSomewhere(s, d, text); err != nil {
					return err
				}
				now, err := statefile.ReadBytes(s.opts.Host, s.path(d))
				if (done || again) && string(now) != want[d] {
					return errors.Join(err, fmt.Errorf("%s is %s", d, now))
				}
			}
			again = true
			return s.Record(ctx, p)
		})
}

// keptSomewhere checks that the text is still in the document or in a copy of it.
func keptSomewhere(s *Store, d Document, text string) error {
	folder := s.root
	if _, ok := channelOf(d); ok {
		folder += "/" + messagesFolder
	}
	entries, err := s.opts.Host.ReadDir("test", folder)
	for _, e := range entries {
		if data, err := statefile.ReadBytes(s.opts.Host, folder+"/"+e.Name()); err == nil && string(data) == text {
			return nil
		}
	}
	return errors.Join(err, fmt.Errorf("%s: %q is nowhere", d, text))
}

func TestAFailedStepOfARecordingIsReportedAndRepeatedNextTime(t *testing.T) {
	broken := errors.New("disk full")
	first, then := seedContents(t), next(t)
	want := recorded(t, first, then)
	for step := 1; ; step++ {
		reached := false
		synctest.Test(t, func(t *testing.T) {
			m := hosttest.New(1, hosttest.Fault{})
			s := Open(crashRoot, Options{Host: m.Process()})
			if err := s.Record(ctx, first); err != nil {
				t.Fatal(err)
			}
			at := m.Steps() + step
			m.SetFault(hosttest.Fault{At: at, Err: broken})
			err := s.Record(ctx, then)
			reached = m.Steps() >= at
			m.SetFault(hosttest.Fault{})
			if err != nil {
				err = s.Record(ctx, then)
			}
			found, readErr := contents(s)
			for d, text := range found {
				if text != want[d] {
					t.Errorf("%s: %s is %s", m.FaultStep(), d, text)
				}
			}
			if err := errors.Join(err, readErr); err != nil {
				t.Errorf("%s: %v", m.FaultStep(), err)
			}
		})
		if !reached || t.Failed() {
			break
		}
	}
}
