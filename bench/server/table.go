//go:build linux

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

// describe prints the properties of the machine that influence the measured values.
func describe(s settings, dir string) error {
	load, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return err
	}
	synced, err := measureSyncs(dir)
	if err != nil {
		return err
	}
	fmt.Printf("%d cores for server and load, load %s, a synced append takes %s, %s, %d clients\n\n", runtime.NumCPU(),
		strings.Join(strings.Fields(string(load))[:2], " "), round(synced.quantile(.5)), s.db, s.clients)
	return nil
}

// measureSyncs measures how long it takes to append to a file in dir and sync it.
func measureSyncs(dir string) (r result, err error) {
	f, err := os.Create(filepath.Join(dir, "sync"))
	if err != nil {
		return r, err
	}
	defer func() { _ = f.Close() }() // ignore the error: the file will be deleted
	for range 50 {
		began := time.Now()
		if _, err := f.Write(make([]byte, 4096)); err != nil {
			return r, err
		}
		if err := f.Sync(); err != nil {
			return r, err
		}
		r.waits = append(r.waits, time.Since(began))
	}
	return r, os.Remove(f.Name())
}

func heading() {
	fmt.Printf("%-44s %9s %9s %9s %9s %11s %11s %9s   %s\n", "", "in 1 s", "p50", "p99", "most", "server CPU", "db CPU", "load CPU", "aims")
}

// row prints a result as one row of the table. The printed processor times are per request.
func row(name string, r result, aims ...target) {
	var texts []string
	for _, a := range aims {
		texts = append(texts, a.String())
	}
	fmt.Printf("%-44s %9.0f %9s %9s %9s %11s %11s %9s   %s\n", name, r.perSecond(), r.wait(.5), r.wait(.99), r.wait(1),
		r.each(r.server), r.each(r.database), r.each(r.own), strings.Join(texts, ", "))
}

// wait returns the result of [result.quantile] as text, or "-" if it is 0.
func (r *result) wait(share float64) string {
	if d := r.quantile(share); d > 0 {
		return round(d).String()
	}
	return "-"
}

// each returns the average time per request as text. total is the time of all requests together.
func (r *result) each(total time.Duration) string {
	if total == 0 || len(r.waits) == 0 {
		return "-"
	}
	return (total / time.Duration(len(r.waits))).Round(100 * time.Nanosecond).String()
}

// target is a wanted value. text describes it, and met says whether the measured value reaches it.
type target struct {
	text string
	met  bool
}

func (a target) String() string {
	if a.met {
		return a.text + ": met"
	}
	return a.text + ": MISSED"
}

func atLeast(perSecond, want float64) target {
	return target{fmt.Sprintf("%.0f in 1 s", want), perSecond >= want}
}

func below(d, want time.Duration) target {
	return target{fmt.Sprintf("p99 below %s", want), d < want}
}

// round rounds d to 1 µs if d is below 1 ms, otherwise to 10 µs.
func round(d time.Duration) time.Duration {
	if d < time.Millisecond {
		return d.Round(time.Microsecond)
	}
	return d.Round(10 * time.Microsecond)
}

func bytesOf(n int) string { return fmt.Sprintf("%.0f kB", float64(n)/1000) }
