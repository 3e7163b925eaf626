// Command limits measures how long two basic operations take on this machine: starting a program
// (true, which does nothing), and writing data so that it survives a crash of the machine. Its
// figures are of the kind [figure.Limit].
package main

import (
	"errors"
	"flag"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"gaffer/bench/figure"
)

func main() {
	log.SetFlags(0)
	sizes := flag.String("sizes", "10,100,1000,10000", "how often")
	parallel := flag.Int("parallel", 2, "how many processes at the same time")
	dir := flag.String("dir", "", "the disk to measure (a temporary folder if empty)")
	syncs := flag.String("syncs", "", "write only how many writes can be synced in one second, as a limit of these measures")
	figures := flag.String("figures", "", "a file to which the figures are added")
	flag.Parse()
	if err := run(*sizes, *parallel, *dir, *syncs, *figures); err != nil {
		log.Fatal(err)
	}
}

func run(sizes string, parallel int, dir, syncs, figures string) error {
	for text := range strings.SplitSeq(sizes, ",") {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			return fmt.Errorf("%q is not a number", text)
		}
		synced, err := syncedWrites(dir, min(n, maxWrites))
		if err != nil {
			return err
		}
		if syncs != "" {
			fmt.Printf("%-34s %8d %10.0f in 1 s\n", "synced writes", n, 1/synced.Seconds())
			for measure := range strings.SplitSeq(syncs, ",") {
				if err := figure.Append(figures, figure.Figure{Measure: measure, Program: "synced writes", Kind: figure.Limit, Size: n, Value: 1 / synced.Seconds()}); err != nil {
					return err
				}
			}
			continue
		}
		started, err := starts(n, parallel)
		if err != nil {
			return err
		}
		fmt.Printf("%-34s %8d %10.3f ms each\n%-34s %8d %10.3f ms each\n", "fork and exec of true", n, millis(started), "one synced write", n, millis(synced))
		if err := figure.Append(figures,
			figure.Figure{Measure: "run.time", Program: "fork and exec of true", Kind: figure.Limit, Size: n, Value: millis(started)},
			figure.Figure{Measure: "run.time", Program: "one synced write", Kind: figure.Limit, Size: n, Value: millis(synced)}); err != nil {
			return err
		}
	}
	return nil
}

// maxWrites is the maximum number of synced writes. More writes would take longer, but hardly change
// the average.
const maxWrites = 1000

// starts runs the program true n times, with several processes at the same time. It returns the
// elapsed time divided by n.
func starts(n, parallel int) (time.Duration, error) {
	program, err := exec.LookPath("true")
	if err != nil {
		return 0, err
	}
	var all sync.WaitGroup
	errs := make([]error, parallel)
	began := time.Now()
	for i := range parallel {
		all.Go(func() {
			for k := i; k < n && errs[i] == nil; k += parallel {
				errs[i] = exec.Command(program).Run()
			}
		})
	}
	all.Wait()
	return time.Since(began) / time.Duration(n), errors.Join(errs...)
}

// syncedWrites appends 4 KiB to a file n times and syncs the file each time. It returns the average
// time of one such write.
func syncedWrites(dir string, n int) (each time.Duration, err error) {
	folder, err := os.MkdirTemp(dir, "gaffer-bench-")
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	f, err := os.Create(filepath.Join(folder, "synced"))
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	piece := make([]byte, 4096)
	began := time.Now()
	for range n {
		if _, err := f.Write(piece); err != nil {
			return 0, err
		}
		if err := f.Sync(); err != nil {
			return 0, err
		}
	}
	return time.Since(began) / time.Duration(n), nil
}

func millis(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
