package text

import (
	"fmt"
	"strconv"
	"strings"
)

// ParseSize reads a number of bytes such as 500MB. It reports whether s is one.
func ParseSize(s string) (int64, bool) {
	number, factor := strings.ToUpper(strings.TrimSpace(s)), int64(1)
	for suffix, f := range map[string]int64{"KB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12} {
		if rest, ok := strings.CutSuffix(number, suffix); ok {
			number, factor = strings.TrimSpace(rest), f
			break
		}
	}
	n, err := strconv.ParseInt(number, 10, 64)
	if err != nil || n < 0 || n > (1<<62)/factor {
		return 0, false
	}
	return n * factor, true
}

// FormatSize writes a number of bytes as ParseSize reads it, rounded.
func FormatSize(n int64) string {
	units := []string{"B", "KB", "MB", "GB", "TB"}
	size, unit := float64(n), 0
	for ; size >= 1000 && unit < len(units)-1; unit++ {
		size /= 1000
	}
	if unit == 0 {
		return fmt.Sprintf("%d B", n)
	}
	return fmt.Sprintf("%.1f %s", size, units[unit])
}
