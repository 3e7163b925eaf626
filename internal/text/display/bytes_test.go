package display

import "testing"

func TestASizeHasAFewDigitsAndAUnit(t *testing.T) {
	for n, want := range map[int64]string{
		0: "0 B", 999: "999 B", 1000: "1.0 kB", 9949: "9.9 kB", 9950: "10 kB", 12_345: "12 kB", 999_499: "999 kB", 999_500: "1.0 MB",
		4_200_000: "4.2 MB", 7_000_000_000: "7.0 GB", 5e15: "5000 TB",
	} {
		if got := Bytes(n); got != want {
			t.Errorf("%d is %s, want %s", n, got, want)
		}
	}
}
