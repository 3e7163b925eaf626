// Command records writes test data: a ledger, which is a folder with up to two JSON files for each
// attempt of a task. The run record says what was started; the result record says how the attempt
// ended. The ledger looks like that of a fleet after some months. It contains records with all
// members, with few members and with irregular values, failed attempts, several attempts of one
// task, and attempts that never ended. The same seed gives the same files.
//
//	go run ./bench/records -n 100000 -dir DIR
package main

import (
	"flag"
	"fmt"
	"log"
	"math/rand/v2"
	"os"
	"path/filepath"
)

func main() {
	log.SetFlags(0)
	n := flag.Int("n", 10_000, "how many run records")
	dir := flag.String("dir", "", "where to put runs/ and results/ (must be new or empty)")
	seed := flag.Uint64("seed", 1, "another seed, another ledger")
	full := flag.Bool("full", false, "write only sound records in the full form")
	broken := flag.Bool("broken", false, "make one file broken JSON")
	flag.Parse()
	if *dir == "" || *n < 1 {
		flag.Usage()
		os.Exit(2)
	}
	w := &writer{dir: *dir, full: *full, rng: rand.New(rand.NewPCG(*seed, 0))}
	if err := w.ledger(*n, *broken); err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%d run records and %d result records in %s\n", w.runs, w.results, *dir)
}

// writer writes the files of a ledger. It does not sync them, because they can be created again.
type writer struct {
	dir           string
	full          bool
	rng           *rand.Rand
	runs, results int
}

func (w *writer) ledger(n int, broken bool) error {
	for _, folder := range []string{"runs", "results"} {
		path := filepath.Join(w.dir, folder)
		if err := os.MkdirAll(path, 0o755); err != nil {
			return err
		}
		entries, err := os.ReadDir(path)
		if err != nil {
			return err
		}
		if len(entries) > 0 {
			return fmt.Errorf("%s: not empty", path)
		}
	}
	for task := 0; w.runs < n; task++ {
		if err := w.task(task, n-w.runs); err != nil {
			return err
		}
	}
	if !broken {
		return nil
	}
	return os.WriteFile(filepath.Join(w.dir, "runs", "bd-broken.json"), []byte(`{"bead": "bd-broken", "agent": "cla`), 0o644)
}

func (w *writer) write(folder, name string, data []byte) error {
	if folder == "runs" {
		w.runs++
	} else {
		w.results++
	}
	return os.WriteFile(filepath.Join(w.dir, folder, name), data, 0o644)
}
