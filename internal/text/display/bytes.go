package display

import "fmt"

// Bytes formats a number of bytes in decimal units, such as "1.5 MB".
func Bytes(n int64) string {
	units := []string{"kB", "MB", "GB", "TB"}
	if n < 1000 {
		return fmt.Sprintf("%d B", n)
	}
	size, at := float64(n)/1000, 0
	for size >= 999.5 && at < len(units)-1 {
		size, at = size/1000, at+1
	}
	if size < 9.95 {
		return fmt.Sprintf("%.1f %s", size, units[at])
	}
	return fmt.Sprintf("%.0f %s", size, units[at])
}
